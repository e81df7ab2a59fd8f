package bot

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// A githubEvent has what is shown of GitHub's webhook events and of those of Gitea and Forgejo,
// which send the same (docs.github.com: Webhook events and payloads).
type githubEvent struct {
	Action     string `json:"action"`
	Repository struct {
		FullName string `json:"full_name"`
	} `json:"repository"`
	Sender struct {
		Login string `json:"login"`
	} `json:"sender"`
	// push
	Ref        string         `json:"ref"`
	Created    bool           `json:"created"`
	Deleted    bool           `json:"deleted"`
	Forced     bool           `json:"forced"`
	Compare    string         `json:"compare"`
	Commits    []githubCommit `json:"commits"`
	HeadCommit *githubCommit  `json:"head_commit"`
	Pusher     struct {
		Name string `json:"name"`
	} `json:"pusher"`
	// the others
	Issue       *githubThing `json:"issue"`
	PullRequest *githubThing `json:"pull_request"`
	Release     *struct {
		TagName string `json:"tag_name"`
		Name    string `json:"name"`
		HTMLURL string `json:"html_url"`
	} `json:"release"`
}

type githubCommit struct {
	Message string `json:"message"`
}

type githubThing struct {
	Number  int64  `json:"number"`
	Title   string `json:"title"`
	HTMLURL string `json:"html_url"`
	Merged  bool   `json:"merged"`
}

// errGithub does not repeat the payload, which may be anything.
var errGithub = errors.New("the payload is not what the event of GitHub has")

// shownActions are the actions on issues and pull requests that are shown. Others, such as labels
// and new commits, would flood a room.
var shownActions = []string{"opened", "closed", "reopened", "merged", "ready_for_review"}

// github makes one line of an event, or nothing of an event that is not shown.
func github(kind string, payload []byte) (string, error) {
	var e githubEvent
	if err := json.Unmarshal(payload, &e); err != nil {
		return "", errGithub
	}
	head := "[" + short(e.Repository.FullName, 80) + "] " + short(e.Sender.Login, 40)
	switch kind {
	case "ping":
		return "[" + short(e.Repository.FullName, 80) + "] the webhook works", nil
	case "push":
		return e.push()
	case "issues":
		return e.Issue.line(head, e.Action, "issue")
	case "pull_request":
		action := e.Action
		if action == "closed" && e.PullRequest != nil && e.PullRequest.Merged {
			action = "merged"
		}
		return e.PullRequest.line(head, action, "pull request")
	case "release":
		r := e.Release
		switch {
		case r == nil:
			return "", errGithub
		case e.Action != "published":
			return "", nil
		}
		line := head + " released " + short(r.TagName, 60)
		if r.Name != "" && r.Name != r.TagName {
			line += ": " + short(r.Name, 100)
		}
		return line + link(r.HTMLURL), nil
	}
	return "", nil
}

func (t *githubThing) line(head, action, what string) (string, error) {
	switch {
	case t == nil || t.Number <= 0:
		return "", errGithub
	case !slices.Contains(shownActions, action):
		return "", nil
	}
	return fmt.Sprintf("%s %s %s #%d: %s%s", head, strings.ReplaceAll(action, "_", " "), what,
		t.Number, short(t.Title, 150), link(t.HTMLURL)), nil
}

func (e *githubEvent) push() (string, error) {
	who := e.Pusher.Name
	if who == "" {
		who = e.Sender.Login
	}
	head := "[" + short(e.Repository.FullName, 80) + "] " + short(who, 40)
	what, name := "branch", strings.TrimPrefix(e.Ref, "refs/heads/")
	if tag, ok := strings.CutPrefix(e.Ref, "refs/tags/"); ok {
		what, name = "tag", tag
	}
	if name = short(name, 60); name == "" {
		return "", errGithub
	}
	n := len(e.Commits)
	switch {
	case e.Deleted:
		return head + " deleted " + what + " " + name, nil
	case what == "tag", n == 0 && e.Created:
		return head + " created " + what + " " + name + link(e.Compare), nil
	case n == 0 && !e.Forced:
		return "", nil
	}
	verb, commits := "pushed", "1 commit"
	if e.Forced {
		verb = "force-pushed"
	}
	if n != 1 {
		commits = fmt.Sprintf("%d commits", n)
	}
	message := ""
	if e.HeadCommit != nil {
		message, _, _ = strings.Cut(e.HeadCommit.Message, "\n")
		message = ": " + short(message, 120)
	}
	return fmt.Sprintf("%s %s %s to %s%s%s", head, verb, commits, name, message, link(e.Compare)),
		nil
}

// link returns a blank and a URL, or nothing if it is none that people should follow.
func link(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil ||
		len(s) > 200 || clean(s) != s || strings.Contains(s, " ") {
		return ""
	}
	return " " + s
}
