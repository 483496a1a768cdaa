package clientconf

import (
	"slices"
	"strings"

	"durward"
	"durward/internal/clientconf/syntax"
)

// ownName is what Durward is called in the files of clients.
const ownName = "durward"

// Endpoint is Durward's HTTP entrance as a client is to reach it.
type Endpoint struct {
	URL string
	// TokenEnv is the environment variable of the client that holds the bearer
	// token; the file gets a reference to it in the client's own form.
	TokenEnv string
	// Headers are written as they are: they are for clients that cannot refer to
	// a variable, and for what is no secret.
	Headers []Pair
}

// InstallOptions say what is written.
type InstallOptions struct {
	Command  string    // the durward program: a name in PATH, or a path
	Args     []string  // its arguments; default: stdio
	Endpoint *Endpoint // written instead of Command

	// Move are the entries (by Entry.Path) that are taken out of the file,
	// because Durward serves them from now on; the record keeps them.
	Move []Path
	// Disable are the entries that are switched off. Only some clients can; for
	// the others there is Move.
	Disable []Path
	// Replace permits to put aside an entry "durward" that runs something else.
	Replace bool
	// Previous is the record of the installation that is renewed, if there is
	// one: the new record then leads back to before both.
	Previous *Record
}

// Change is a file before it is written.
type Change struct {
	Data    []byte  // what the file is to hold
	Remove  bool    // the file is to be removed: nothing is left of it, and Durward made it
	Changed bool    // whether anything is different from what was given
	Diff    string  // in the unified form, secrets masked; empty if nothing changes
	Record  *Record // of an installation: how to take it back; nil if there is nothing to take back
}

// Install puts Durward into the file of a client. data is what the file holds,
// nil if there is none. Nothing else in the file changes, not even a space;
// installing twice changes nothing. Nothing is written: see [Replace].
//
// Errors: durward.Invalid (the file is broken, or the client cannot do what is
// asked; the message says what to do), durward.Conflict (an entry "durward" is
// there that runs something else).
func Install(src Source, data []byte, o InstallOptions) (*Change, error) {
	t, ok := src.Client.traits()
	if !ok || t.client == Generic {
		return nil, durward.Errorf(durward.Invalid, "install", "Durward cannot write the files of %q; choose another client", clip(string(src.Client)))
	}
	w := installer{traits: t, src: src, given: data}
	fields, err := t.fields(o)
	if err == nil {
		err = w.start(fields, o)
	}
	if err == nil && !w.done {
		err = w.write(fields, o)
	}
	if err != nil {
		return nil, w.located(err)
	}
	return w.change(), nil
}

// installer makes one installation.
type installer struct {
	traits
	src    Source
	given  []byte       // as the file is
	base   []byte       // as it is without Durward
	data   []byte       // as it will be
	root   *syntax.Node // what base says
	record *Record
	done   bool // the entry is there already, as wanted
}

// located says which file an error is about.
func (w *installer) located(err error) error {
	op := w.src.Path
	if op == "" {
		op = w.title
	}
	return &durward.Error{Kind: durward.KindOf(err), Op: op, Message: err.Error(), Err: err}
}

// start takes an earlier installation back, so that there is one state to begin from.
func (w *installer) start(fields syntax.Fields, o InstallOptions) error {
	root, err := w.parse(w.given)
	if err != nil {
		return err
	}
	w.base, w.root = w.given, root
	old := root.At(w.container).Get(ownName)
	switch {
	case o.Previous != nil:
		change, err := Uninstall(w.src, w.given, o.Previous)
		if err != nil {
			return err
		}
		if w.base, w.root = change.Data, nil; change.Remove {
			w.base = nil
		}
	case old == nil:
	case w.isOwn(ownName, old):
		if old.Equal(fields.Node(), false) && len(o.Move)+len(o.Disable) == 0 {
			w.data, w.done = w.given, true
			return nil
		}
		w.root = nil
		w.base, _, err = syntax.Remove(w.format, w.given, w.container, []string{ownName})
		return err
	case !o.Replace:
		return durward.Errorf(durward.Conflict, "", "there is a server %q that runs something else; rename it, or ask for it to be replaced", ownName)
	}
	return nil
}

// parse returns the tree of a file, of an empty one an empty object.
func (w *installer) parse(data []byte) (*syntax.Node, error) {
	if isEmpty(data) {
		return &syntax.Node{Kind: syntax.Object}, nil
	}
	root, bad := syntax.Parse(w.format, data)
	if bad != nil {
		line, column := syntax.NewLines(data).Position(bad.Offset)
		return nil, durward.Errorf(durward.Invalid, "", "line %d, column %d: %s", line, column, bad.Message)
	}
	if root.Kind != syntax.Object {
		return nil, durward.Errorf(durward.Invalid, "", "the file must hold an object ({…}), not %s", root.Kind)
	}
	return root, nil
}

// write makes the edits and checks that they did what they should and no more.
func (w *installer) write(fields syntax.Fields, o InstallOptions) error {
	root := w.root
	if root == nil {
		var err error
		if root, err = w.parse(w.base); err != nil {
			return err
		}
	}
	want := root.Clone()
	w.data, w.record = w.base, &Record{Version: recordVersion, Client: w.client, Created: w.base == nil}
	move := o.Move
	if old := root.At(w.container).Get(ownName); old != nil {
		move = append(slices.Clone(move), Path(w.container).in(ownName))
	}
	if err := w.move(root, want, move); err != nil {
		return err
	}
	if err := w.disable(root, want, o.Disable); err != nil {
		return err
	}
	w.made(root)
	var err error
	if w.data, err = syntax.Insert(w.format, w.data, w.container, ownName, fields); err != nil {
		return err
	}
	put(want, w.container, ownName, fields.Node())
	if got, err := w.parse(w.data); err != nil || !got.Equal(want, w.format == syntax.JSON) {
		return durward.Errorf(durward.Internal, "", "the file would not say what it should after the change; nothing was changed, please report it with the shape of the file")
	}
	w.record.seal(w.base, w.data)
	return nil
}

// move takes entries out, container by container.
func (w *installer) move(root, want *syntax.Node, paths []Path) error {
	for i, p := range paths {
		n := len(p) - 1
		if n < 1 || root.At(p) == nil {
			return durward.Errorf(durward.Invalid, "", "there is no server at %s that could be moved", p)
		}
		if slices.ContainsFunc(paths[:i], func(o Path) bool { return len(o) == len(p) && slices.Equal(o[:n], p[:n]) }) {
			continue // its container is done
		}
		var keys []string
		for _, o := range paths[i:] {
			if len(o) == len(p) && slices.Equal(o[:n], p[:n]) {
				keys = append(keys, o[n])
				for c := want.At(p[:n]); c.Index(o[n]) >= 0; { // also if it is there twice
					c.Drop(o[n])
				}
			}
		}
		data, taken, err := syntax.Remove(w.format, w.data, p[:n], keys)
		if err != nil {
			return err
		}
		w.data = data
		for i, k := range taken {
			if slices.ContainsFunc(taken[i+1:], func(o syntax.Taken) bool { return o.Name == k.Name }) {
				continue // of two, the later one counts
			}
			w.record.Moved = append(w.record.Moved, Moved{Path: p[:n], Taken: k})
		}
	}
	return nil
}

// disable switches entries off.
func (w *installer) disable(root, want *syntax.Node, paths []Path) error {
	if len(paths) > 0 && w.disableKey == "" {
		return durward.Errorf(durward.Invalid, "", "%s cannot switch a server off in its file; move the servers instead", w.title)
	}
	for _, p := range paths {
		entry := root.At(p)
		if entry == nil || entry.Kind != syntax.Object {
			return durward.Errorf(durward.Invalid, "", "there is no server at %s that could be switched off", p)
		}
		old := entry.Get(w.disableKey)
		if old.Is(w.disableOn) {
			continue
		}
		data, err := syntax.SetBool(w.format, w.data, p, w.disableKey, w.disableOn)
		if err != nil {
			return err
		}
		w.data = data
		off := Disabled{Path: p}
		if old != nil {
			was := old.Is(true)
			off.Was = &was
		}
		w.record.Disabled = append(w.record.Disabled, off)
		want.At(p).Put(w.disableKey, syntax.Fields{{Key: "", Value: w.disableOn}}.Node().Members[0].Value)
	}
	return nil
}

// made notes the objects that are about to be made.
func (w *installer) made(root *syntax.Node) {
	for i := range w.container {
		if n := root.At(w.container[:i+1]); n == nil || n.Kind == syntax.Null {
			w.record.Made = append(w.record.Made, slices.Clone(w.container[:i+1]))
		}
	}
}

// put sets a key at the end of a path whose objects are made where they are missing.
func put(n *syntax.Node, path []string, key string, value *syntax.Node) {
	for _, name := range path {
		next := n.Get(name)
		if next == nil || next.Kind == syntax.Null {
			next = &syntax.Node{Kind: syntax.Object}
			n.Put(name, next)
		}
		n = next
	}
	n.Put(key, value)
}

func (w *installer) change() *Change {
	return &Change{
		Data: w.data, Changed: string(w.data) != string(w.given),
		Diff:   diffText(w.format, w.src.Path, w.given, w.data),
		Record: w.record,
	}
}

// fields returns Durward's entry in the form of a client.
func (t traits) fields(o InstallOptions) (syntax.Fields, error) {
	if o.Endpoint != nil {
		return t.remoteFields(*o.Endpoint)
	}
	if o.Command == "" {
		return nil, durward.Errorf(durward.Invalid, "", "neither a command nor an address was given for Durward")
	}
	args := o.Args
	if len(args) == 0 {
		args = []string{"stdio"}
	}
	var out syntax.Fields
	if t.stdioType != "" {
		out = append(out, syntax.Field{Key: "type", Value: t.stdioType})
	}
	return append(out, syntax.Field{Key: "command", Value: o.Command}, syntax.Field{Key: "args", Value: slices.Clone(args)}), nil
}

func (t traits) remoteFields(to Endpoint) (syntax.Fields, error) {
	if t.remoteKey == "" {
		return nil, durward.Errorf(durward.Invalid, "", "%s reaches only programs, no addresses, through its file; install the command instead", t.title)
	}
	var out, headers syntax.Fields
	if t.remoteType != "" {
		out = append(out, syntax.Field{Key: "type", Value: t.remoteType})
	}
	out = append(out, syntax.Field{Key: t.remoteKey, Value: to.URL})
	switch {
	case to.TokenEnv == "":
	case !variableName.MatchString(to.TokenEnv):
		return nil, durward.Errorf(durward.Invalid, "", "%q cannot be the name of a variable; use letters, digits and _", clip(to.TokenEnv))
	case t.client == Codex:
		out = append(out, syntax.Field{Key: "bearer_token_env_var", Value: to.TokenEnv})
	case t.tokenRef == "":
		return nil, durward.Errorf(durward.Invalid, "", "%s cannot take a token from a variable; install the command instead", t.title)
	default:
		headers = append(headers, syntax.Field{Key: "Authorization", Value: "Bearer " + strings.Replace(t.tokenRef, "NAME", to.TokenEnv, 1)})
	}
	for _, h := range to.Headers {
		headers = append(headers, syntax.Field{Key: h.Name, Value: h.Value})
	}
	if len(headers) > 0 {
		out = append(out, syntax.Field{Key: t.headersKey, Value: headers})
	}
	return out, nil
}
