package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"durward"
	"durward/client"
)

// inputSchema is what the command line needs to know of a tool's input.
type inputSchema struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
}

// property is what it needs to know of one argument.
type property struct {
	Type        any    `json:"type"`
	Description string `json:"description"`
	Enum        []any  `json:"enum"`
	Format      string `json:"format"`
	WriteOnly   bool   `json:"writeOnly"`
}

// toolArguments reads the arguments of a call and checks them.
func toolArguments(tool *client.Item, args []string, std Streams) (json.RawMessage, error) {
	var listed struct {
		Input json.RawMessage `json:"inputSchema"`
	}
	if err := json.Unmarshal(tool.Raw, &listed); err != nil {
		return nil, durward.Errorf(durward.Invalid, tool.Name, "the server lists it in a form that cannot be read: %w", err)
	}
	var schema inputSchema
	_ = json.Unmarshal(listed.Input, &schema) // a schema of another form names no arguments
	arguments, err := givenArguments(schema, args, std)
	if err != nil {
		return nil, err
	}
	arguments, err = askMissing(schema, arguments, std)
	if err != nil {
		return nil, err
	}
	return arguments, checkArguments(listed.Input, arguments)
}

// givenArguments reads what stands on the command line or on stdin.
func givenArguments(schema inputSchema, args []string, std Streams) (json.RawMessage, error) {
	switch {
	case len(args) == 0:
		return json.RawMessage("{}"), nil
	case len(args) == 1 && args[0] == "-":
		return readArguments(std.In)
	case len(args) == 1 && strings.HasPrefix(strings.TrimSpace(args[0]), "{"):
		return json.RawMessage(args[0]), nil
	}
	given := map[string]json.RawMessage{}
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || key == "" {
			return nil, usage(fmt.Errorf("%q is neither a JSON object nor KEY=VALUE", cut(arg, 40)))
		}
		if _, twice := given[key]; twice {
			return nil, usage(fmt.Errorf("argument %s is given twice", key))
		}
		raw, err := schema.value(key, value)
		if err != nil {
			return nil, err
		}
		given[key] = raw
	}
	return encodeArguments(given)
}

func encodeArguments(given map[string]json.RawMessage) (json.RawMessage, error) {
	var b bytes.Buffer
	err := printJSON(&b, given)
	return bytes.TrimSpace(b.Bytes()), err
}

// value reads the text of one argument as the schema wants it: text as it stands,
// everything else as JSON. Where the schema says nothing, JSON counts as JSON.
func (s inputSchema) value(key, text string) (json.RawMessage, error) {
	var p property
	_ = json.Unmarshal(s.Properties[key], &p) // true and false are schemas, too, and say nothing
	types := p.types()
	valid := json.Valid([]byte(text))
	switch {
	case slices.Contains(types, "string") && !(valid && len(types) > 1 && text[0] != '"'):
		return quoted(text)
	case valid && len(types) == 0 && !allText(p.Enum):
		return json.RawMessage(text), nil
	case valid && len(types) > 0:
		return json.RawMessage(text), nil
	case len(types) == 0:
		return quoted(text)
	default:
		return nil, durward.Errorf(durward.Invalid, "argument "+key, "%q is no JSON of type %s", cut(text, 40), strings.Join(types, " or "))
	}
}

func quoted(text string) (json.RawMessage, error) {
	var b bytes.Buffer
	err := printJSON(&b, text)
	return bytes.TrimSpace(b.Bytes()), err
}

func allText(values []any) bool {
	return len(values) > 0 && !slices.ContainsFunc(values, func(v any) bool { _, text := v.(string); return !text })
}

// types lists the types that the schema of an argument names.
func (p property) types() []string {
	switch t := p.Type.(type) {
	case string:
		return []string{t}
	case []any:
		var out []string
		for _, one := range t {
			if name, ok := one.(string); ok {
				out = append(out, name)
			}
		}
		return out
	}
	return nil
}

// askMissing asks a person at a terminal for required arguments that are missing.
func askMissing(schema inputSchema, arguments json.RawMessage, std Streams) (json.RawMessage, error) {
	given := map[string]json.RawMessage{}
	if err := json.Unmarshal(arguments, &given); err != nil {
		return nil, durward.Errorf(durward.Invalid, "", "the arguments are no JSON object: %w", err)
	}
	var missing []string
	for _, key := range schema.Required {
		if _, ok := given[key]; !ok {
			missing = append(missing, key)
		}
	}
	if len(missing) == 0 {
		return arguments, nil
	}
	d, ok := openDialogue(std)
	if !ok {
		return nil, durward.Errorf(durward.Invalid, "", "required arguments are missing: %s", strings.Join(missing, ", "))
	}
	defer d.close()
	for _, key := range missing {
		raw, err := d.ask(schema, key)
		if err != nil {
			return nil, err
		}
		given[key] = raw
	}
	return encodeArguments(given)
}

// checkArguments checks arguments against a tool's schema. A schema that cannot
// be read here is left to the server.
func checkArguments(raw json.RawMessage, arguments json.RawMessage) error {
	var value map[string]any
	if err := json.Unmarshal(arguments, &value); err != nil {
		return durward.Errorf(durward.Invalid, "", "the arguments are no JSON object: %w", err)
	}
	resolved := readSchema(raw)
	if resolved == nil {
		return nil
	}
	if err := resolved.Validate(value); err != nil {
		return durward.Errorf(durward.Invalid, "", "the arguments do not fit the tool's schema: %w", err)
	}
	return nil
}

// readSchema reads a schema; nil if it cannot be read here.
func readSchema(raw json.RawMessage) *jsonschema.Resolved {
	var schema jsonschema.Schema
	if json.Unmarshal(raw, &schema) != nil {
		return nil
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil
	}
	return resolved
}

// toolOrArgument completes tools, and then the names of their arguments.
func toolOrArgument(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return itemNames((*client.Client).Tools)(cmd, args, word)
	}
	names, _ := completed(cmd.Context(), func(ctx context.Context, c *client.Client) ([]string, error) {
		tools, err := c.Tools(ctx, client.Filter{})
		if err != nil {
			return nil, err
		}
		tool, err := find(tools, "tool", args[0])
		if err != nil {
			return nil, err
		}
		var listed struct {
			Input inputSchema `json:"inputSchema"`
		}
		err = json.Unmarshal(tool.Raw, &listed)
		var names []string
		for name := range listed.Input.Properties {
			names = append(names, name+"=")
		}
		slices.Sort(names)
		return names, err
	})
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
