package main

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"

	"interleave/eve/document"
)

func runDoc(c *call) error {
	page, markdown := "", ""
	err := c.spread(func(f *flag.FlagSet) {
		f.StringVar(&page, "html", page,
			"write one page with a search into this `file`; - is standard output")
		f.StringVar(&markdown, "markdown", markdown,
			"write one page of Markdown into this `file`; - is standard output")
	})
	if err != nil {
		return err
	}
	library := document.Library()
	var files []document.Module
	var names []string
	for _, a := range c.args {
		if filepath.Ext(a) != ".eve" && a != "-" {
			names = append(names, a)
			continue
		}
		file, err := c.readMain(a)
		if err != nil {
			return err
		}
		files = append(files, document.Read(strings.TrimSuffix(filepath.Base(a), ".eve"), file))
	}
	switch {
	case page != "" && len(names) > 0:
		return usage("--html takes files of Eve, or nothing for the library")
	case markdown != "" && len(names) > 0:
		return usage("--markdown takes files of Eve, or nothing for the library")
	case page != "" && markdown != "":
		return usage("--html and --markdown write one page each: use one of them")
	case page != "":
		return c.writePage(page, library, files)
	case markdown != "":
		return c.writeMarkdown(markdown, library, files)
	case len(c.args) == 0:
		fmt.Fprint(c.stdout, document.List(library, width(c.stdout)))
		return nil
	}
	if len(names) == 0 {
		for _, m := range files {
			fmt.Fprint(c.stdout, document.Found{Module: m, Path: m.Name}.Text(width(c.stdout)))
		}
		return nil
	}
	return c.explainNames(append(files, library...), names)
}

// explainNames writes the documentation of names.
func (c *call) explainNames(all []document.Module, names []string) error {
	for i, name := range names {
		found := document.Find(all, name)
		if len(found) == 0 {
			if near := document.Similar(all, name); near != nil {
				return fmt.Errorf("there is no %s; did you mean %s?", name,
					strings.Join(near, " or "))
			}
			return fmt.Errorf("there is no %s; `eve doc` lists the modules", name)
		}
		for j, f := range found {
			if i+j > 0 {
				fmt.Fprintln(c.stdout)
			}
			fmt.Fprint(c.stdout, f.Text(width(c.stdout)))
		}
	}
	return nil
}

// onPage is what a page of the files has, or of the library if there are none.
func onPage(library, files []document.Module) (title string, modules []document.Module) {
	if len(files) > 0 {
		return files[0].Name, files
	}
	return document.Title, library
}

// writeMarkdown writes a page of Markdown.
func (c *call) writeMarkdown(name string, library, files []document.Module) error {
	title, modules := onPage(library, files)
	about := ""
	if len(files) == 0 {
		about = document.About
	}
	text := document.Markdown(title, about, modules)
	if name == "-" {
		_, err := fmt.Fprint(c.stdout, text)
		return err
	}
	return create(name, text, newMode)
}

// writePage writes a page of HTML.
func (c *call) writePage(name string, library, files []document.Module) error {
	title, modules := onPage(library, files)
	if name == "-" {
		return document.HTML(c.stdout, title, modules)
	}
	var b strings.Builder
	if err := document.HTML(&b, title, modules); err != nil {
		return err
	}
	return create(name, b.String(), newMode)
}
