;; Checks the colours and the indentation of eve-mode.
(require 'eve-mode)

(defun colour-of (text)
  "The face of TEXT in the buffer."
  (goto-char (point-min))
  (search-forward text)
  (get-text-property (match-beginning 0) 'face))

(with-temp-buffer
  (insert "sum: (n: int) int:\n    # adds\n    if x.if > 1: return true\n")
  (eve-mode)
  (font-lock-ensure)
  (princ (list major-mode (colour-of "sum") (colour-of "int") (colour-of "adds")
               (colour-of "if x") (colour-of "if >") (colour-of "true")))
  (goto-char (point-max))
  (insert "f: () void:\nx")
  (eve-indent-line)
  (princ (list (current-indentation) indent-tabs-mode)))
