;;; eve-mode.el --- Major mode for the language Eve -*- lexical-binding: t -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "27.1"))

;;; Commentary:

;; Colours, indentation, and the language server `eve lsp' through eglot, which Emacs has since
;; version 29 and GNU ELPA for older ones.

;;; Code:

(defgroup eve nil
  "The language Eve."
  :group 'languages)

(defcustom eve-program "eve"
  "The program eve, by its name in the path or by its own path."
  :type 'string)

(defconst eve-indent 4
  "The number of spaces of one level: the only style of Eve.")

(defconst eve-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?# "<" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?' "\"" table)
    (modify-syntax-entry ?_ "w" table)
    (dolist (c (string-to-list "+-*/%=<>!~&|^?@"))
      (modify-syntax-entry c "." table))
    table)
  "The syntax of `eve-mode'.")

(defconst eve-font-lock
  `((,(rx line-start (* space) (? "pub" (+ space)) (group (any "a-zA-Z_") (* word)) ":"
          (* space) (any "<(["))
     1 font-lock-function-name-face)
    ;; After a dot any word is a name.
    (,(rx (not (any ".")) "." (group (any "a-zA-Z_") (* word))) 1 'default)
    (,(rx symbol-start
          (or "import" "as" "pub" "type" "union" "const" "extern" "test" "finish" "on" "if"
              "else" "while" "for" "in" "match" "return" "break" "continue" "pass" "assert"
              "fail" "defer" "emit" "within")
          symbol-end)
     . font-lock-keyword-face)
    (,(rx symbol-start (or "true" "false" "none") symbol-end) . font-lock-constant-face)
    (,(rx symbol-start "self" symbol-end) . font-lock-variable-name-face)
    (,(rx symbol-start
          (or "int" "uint" "float" "bool" "char" "void" "string" "bytes" "duration" "error"
              "vector" "array" "map" "set" "slice" "emitter")
          symbol-end)
     . font-lock-type-face))
  "The colours of `eve-mode'.")

(defun eve-indent-line ()
  "Indent a line like the one before, or one level deeper behind a colon.
Each further call goes back one level, and from the margin to the deepest."
  (interactive)
  (let* ((deepest (save-excursion
                    (beginning-of-line)
                    (skip-chars-backward " \t\n")
                    (+ (current-indentation)
                       (if (eq (char-before) ?:) eve-indent 0))))
         (now (current-indentation))
         (next (if (and (eq last-command this-command) (> now 0))
                   (max 0 (- now eve-indent))
                 deepest)))
    (if (<= (current-column) now)
        (indent-line-to next)
      (save-excursion (indent-line-to next)))))

;;;###autoload
(define-derived-mode eve-mode prog-mode "Eve"
  "A mode for programs in Eve."
  (setq-local comment-start "# ")
  (setq-local comment-start-skip "#+ *")
  (setq-local font-lock-defaults '(eve-font-lock))
  (setq-local indent-tabs-mode nil)
  (setq-local tab-width eve-indent)
  (setq-local indent-line-function #'eve-indent-line))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.eve\\'" . eve-mode))

(defvar eglot-server-programs)

(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs
               (cons 'eve-mode (lambda (&rest _) (list eve-program "lsp")))))

(provide 'eve-mode)

;;; eve-mode.el ends here
