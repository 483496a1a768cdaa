package config

import "durward/internal/yamlx"

// Codes of what goes beyond a single value. What each means, and what to do, is
// in [Faults].
const (
	codeConflict  yamlx.Code = "E_CONFLICT"  // two keys that exclude each other, or one that needs another
	codeReference yamlx.Code = "E_REFERENCE" // ${…} that cannot be replaced
	codeForbidden yamlx.Code = "E_FORBIDDEN" // what the configuration may not say
	codeLocked    yamlx.Code = "E_LOCKED"    // a key that the corp layer keeps for itself
	codeOwner     yamlx.Code = "E_OWNER"     // a corp layer that is not certainly root's
)

// Fault describes one class of problems. Codes are stable: they keep their
// meaning, and a code that falls out of use is not given to anything else.
type Fault struct {
	Code    yamlx.Code
	Meaning string // what is wrong
	Fix     string // what to do
	Example string // a file that has the fault; may be empty
	Corp    string // a corp layer for the example; may be empty
}

// Faults lists all classes of problems in the order of the documentation.
func Faults() []Fault {
	return append(append(textFaults(), valueFaults()...), layerFaults()...)
}

func textFaults() []Fault {
	return []Fault{
		{
			Code:    yamlx.CodeSyntax,
			Meaning: "The file is not YAML. Nothing after the place can be read, so other problems may show up once this one is solved.",
			Fix:     "Look at the place and just above it: a missing quote or bracket, a tab in front of a key, or indentation that does not match are the usual causes. A value with \": \" or \" #\" in it needs quotes.",
			Example: "version: 1\nlisten: \"127.0.0.1:8484\nauth: token\n",
		},
		{
			Code:    yamlx.CodeEmpty,
			Meaning: "There is nothing in the file but comments and white space.",
			Fix:     "Write at least \"version: 1\", or remove the file to use the defaults.",
			Example: "# version: 1\n",
		},
		{
			Code:    yamlx.CodeDocuments,
			Meaning: "The file holds more than one YAML document. Only one can count, and which one should not be guessed.",
			Fix:     "Remove the line with --- and merge what is behind it, or put it into a file of its own.",
			Example: "version: 1\n---\nversion: 1\n",
		},
		{
			Code:    yamlx.CodeEncoding,
			Meaning: "A line is not UTF-8 text, or holds a NUL byte.",
			Fix:     "Save the file as UTF-8.",
		},
		{
			Code:    yamlx.CodeSize,
			Meaning: "The file is larger than 1 MiB or nested more than 64 levels deep.",
			Fix:     "Remove what does not belong into a configuration.",
		},
		{
			Code:    yamlx.CodeAlias,
			Meaning: "An alias (*name) refers to something that contains it, or the aliases of the file written out are more than 200,000 values.",
			Fix:     "Write the value out, or repeat less.",
			Example: "version: 1\nservers: &all\n  a: *all\n",
		},
		{
			Code:    yamlx.CodeMergeKey,
			Meaning: "Merge keys (<<) are not supported: which value they leave in the end is hard to see.",
			Fix:     "Write the keys out, or use defaults for what all servers share.",
			Example: "version: 1\nservers:\n  a: &base {command: a}\n  b: {<<: *base, command: b}\n",
		},
		{
			Code:    yamlx.CodeTag,
			Meaning: "The value has an explicit tag such as !!str or !secret.",
			Fix:     "Remove the tag; put the value in quotes if it is to be a text.",
			Example: "version: 1\nlisten: !!str 127.0.0.1:8484\n",
		},
		{
			Code:    yamlx.CodeKey,
			Meaning: "A key is not a text: a number, a truth value, or a list.",
			Fix:     "Put the key in quotes.",
			Example: "version: 1\nservers:\n  1: {command: a}\n",
		},
		{
			Code:    yamlx.CodeDuplicate,
			Meaning: "A key is there twice in the same mapping. Header names count as the same in any spelling.",
			Fix:     "Remove one of the two.",
			Example: "version: 1\nauth: token\nauth: none\n",
		},
	}
}

func valueFaults() []Fault {
	return []Fault{
		{
			Code:    yamlx.CodeUnknownKey,
			Meaning: "The key means nothing at this place. A key that is ignored in silence would leave you with a setting that you only believe to have.",
			Fix:     "Correct the spelling, or move the key to where it belongs; durward config explain lists all keys.",
			Example: "version: 1\nlimits: {mesage: 1MiB}\n",
		},
		{
			Code:    yamlx.CodeRequired,
			Meaning: "A key that must be there is missing.",
			Fix:     "Add it.",
			Example: "listen: 127.0.0.1:8484\nservers:\n  a: {}\n",
		},
		{
			Code:    yamlx.CodeType,
			Meaning: "The value is of another type than the key wants: a text for a number, a list for a mapping, nothing at all.",
			Fix:     "Write a value of the type that the message names. Durations and sizes need a unit (30s, 32MiB); a text that looks like a number needs quotes.",
			Example: "version: 1\nbuiltin: yes\nlimits: {session_idle: 30}\n",
		},
		{
			Code:    yamlx.CodeRange,
			Meaning: "The number, size or duration is out of its bounds, or a text is too long.",
			Fix:     "Choose a value within the bounds that the message names.",
			Example: "version: 1\nlimits: {message: 2GiB}\n",
		},
		{
			Code:    yamlx.CodeValue,
			Meaning: "The value is of the right type, but not one of those permitted, or it cannot be read.",
			Fix:     "Correct the value as the message says.",
			Example: "version: 1\nlisten: localhost\nlog: {level: verbose}\n",
		},
		{
			Code:    codeConflict,
			Meaning: "Two keys exclude each other, or one needs another that is not there. The message names both.",
			Fix:     "Remove one, or add what is missing.",
			Example: "version: 1\nservers:\n  a: {command: npx, url: \"https://mcp.example/\"}\n",
		},
		{
			Code:    codeForbidden,
			Meaning: "The configuration may not say this here, because it would break the protocol, leak a credential, or belongs to another layer.",
			Fix:     "Remove it; the message names the place where it belongs, if there is one.",
			Example: "version: 1\nservers:\n  a: {url: \"https://user:password@mcp.example/\"}\n",
		},
		{
			Code: codeReference,
			Meaning: "A reference (${env:NAME}, ${file:PATH}, ${secret:NAME}) cannot be replaced: the variable is not set for the service, the file cannot be read, the secret is not stored, or the reference is badly written. " +
				"A placeholder is never passed on in place of a value.",
			Fix:     "Set what is missing for the service, not only in your shell, or give a default: ${env:NAME:-default}. Write $${ for the characters ${ themselves.",
			Example: "version: 1\nservers:\n  a: {command: npx, env: {TOKEN: \"${env:GITHUB_TOKEN}\"}}\n",
		},
	}
}

func layerFaults() []Fault {
	return []Fault{
		{
			Code:    codeLocked,
			Meaning: "The corp layer keeps this key for itself, so your own file must not have it.",
			Fix:     "Remove the key from your file. Whoever looks after " + CorpFile + " can say why.",
			Example: "version: 1\nlimits: {sessions: 5}\n",
			Corp:    "version: 1\nlocked: [limits]\n",
		},
		{
			Code:    codeOwner,
			Meaning: "The corp layer is not certainly the word of those who run the machine: it belongs to somebody other than root, or others may write it, or the system cannot tell. The service does not start with it, and not without it either.",
			Fix:     "chown root " + CorpFile + " && chmod go-w " + CorpFile + ", or remove the file.",
		},
	}
}
