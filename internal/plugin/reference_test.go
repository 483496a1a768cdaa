package plugin_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"durward/internal/plugin"
)

var update = flag.Bool("update", false, "write the reference anew")

const referenceFile = "../../docs/reference/plugins.md"

// TestReference fails when the reference of the plugins is not what the code and
// the corpus say. "go generate" writes it.
func TestReference(t *testing.T) {
	want := reference(t)
	if *update {
		if err := os.WriteFile(referenceFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(referenceFile)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/reference/plugins.md is stale (%v); run make docs", err)
	}
}

func reference(t *testing.T) []byte {
	var b bytes.Buffer
	b.WriteString(referenceHead)
	b.WriteString("| plugin | samples | found | recall | clean samples | false findings | precision | at least |\n|---|--:|--:|--:|--:|--:|--:|---|\n")
	for _, f := range measured(t) {
		recall, precision := f.rates()
		fmt.Fprintf(&b, "| `%s` | %d | %d | %.3f | %d | %d | %.3f | recall %.2f, precision %.2f |\n", f.name, f.samples, f.found, recall, f.clean, f.false, precision, f.recall, f.precision)
	}
	b.WriteString("\n## secrets\n\n" + referenceSecrets)
	b.WriteString("| kind | of | begins with | detection |\n|---|---|---|---|\n")
	writeFormats(&b)
	b.WriteString("\n| kind | what is looked for | detection |\n|---|---|---|\n")
	for _, p := range plugin.Patterns() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p.Kind, p.About, p.Detection)
	}
	b.WriteString(referenceNamed)
	for _, part := range []struct{ name, text string }{{"invisible", referenceInvisible}, {"pii", referencePII}} {
		fmt.Fprintf(&b, "\n## %s\n\n%s| kind | what is found | detection |\n|---|---|---|\n", part.name, part.text)
		for _, k := range plugin.Kinds(part.name) {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Kind, k.About, k.Detection)
		}
	}
	b.WriteString("\n## injection\n\n" + referenceInjection + "| feature | worth | what it is |\n|---|--:|---|\n")
	for _, f := range plugin.Features() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Kind, f.Detection, f.About)
	}
	b.WriteString(referenceRest)
	return b.Bytes()
}

// writeFormats writes one line for each kind of each owner.
func writeFormats(b *bytes.Buffer) {
	list := plugin.Formats()
	for i := 0; i < len(list); {
		owner, _, _ := strings.Cut(list[i].About, "\x00")
		first, starts := list[i], []string{}
		for ; i < len(list) && list[i].Kind == first.Kind && strings.HasPrefix(list[i].About, owner+"\x00"); i++ {
			starts = append(starts, "`"+strings.TrimPrefix(list[i].About, owner+"\x00")+"`")
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", first.Kind, owner, strings.Join(starts, " "), first.Detection)
	}
}

const referenceHead = `# Plugins

<!-- Written by "make docs". Do not edit. -->

Plugins look at what calls carry: at the params of a request before the rules do, and at the whole result after the rules let the call
through and before the caller has it. They are configured below ` + "`policy.plugins`" + ` and can only make an outcome stricter.

` + "```yaml" + `
policy:
  plugins:
    secrets:   { mode: redact }
    invisible: { mode: redact }
    pii:       { mode: observe, detect: [iban, card] }
    size:      { mode: redact, max: 512KiB }
    injection: { mode: observe, threshold: 0.5 }
    taint:     { mode: observe, labels: { hr: [private-data], "web/fetch_*": [untrusted-content] } }
    codenames: { mode: redact, wasm: codenames.wasm }
` + "```" + `

| mode | what happens with what is found |
|---|---|
| observe | it is noted in the record of the call |
| redact | it is replaced by a marker such as ` + "`[redacted:jwt]`" + ` (invisible: removed; size: cut), and noted. All other bytes stay as they came |
| block | the call is refused, or the result withheld |

Without a mode a plugin runs only where a rule names it (` + "`action: preprocess`, `plugin: secrets`" + `), and redacts. With a mode it runs on every call.
A rule may also run ` + "`secrets`" + `, ` + "`pii`" + ` and ` + "`invisible`" + ` in a mode of its own, whatever the configured one is: ` + "`plugin: redact-secrets`" + `, ` + "`plugin: block-pii`" + `.
The file of a plugin is read anew when it changes, and another content is another policy; with ` + "`sha256`" + ` only the one that is meant is taken. What the
corp layer names must be root's.
A plugin that cannot be loaded, or an option that it does not have, stops the start of the service, and leaves the running policy in place on a reload.
A plugin that fails while it runs blocks the call, and nobody knows then what must not be kept of it: the ledger keeps its size and its SHA-256 digest
(dev.durward/withheld) in place of its params. The same holds where a rule that runs a plugin, or rewrites, cannot be evaluated.

Every string of the JSON is looked at with its escapes undone, names of members included. Not looked at: ` + "`cursor`, `nextCursor`, `requestState`, `taskId`" + ` and their
like, which servers make for themselves. What stands in ` + "`name`, `uri`, `ref`" + ` of a request cannot be replaced, since it says where the request goes: there, redact blocks.
What ` + "`secrets` and `pii`" + ` find is replaced in the ledger in every mode. What was found is never told, only its kind and how often.

## How good they are

Measured with the samples of ` + "`internal/plugin/testdata/corpus`" + `, which fail the tests when a figure falls below its bound. The samples were written with the
detectors in mind: they hold the forms that are known, and clean text of many kinds and languages that looks alike. What nobody thought of is not among them, so
read the figures as what is kept from getting worse, and not as what to expect from an attacker who knows this page.

`

const referenceSecrets = `Credentials. A credential is recognised by its form, which is: a start of its own, then as many characters of a certain kind as such a credential has; or a word, and
what stands around it. Placeholders (EXAMPLE, xxxx, your-…) and references (` + "`${…}`, `process.env.…`" + `) are none. Looked for as well: one level deep in Base64 (with line
ends, in both alphabets), in URL encoding, in escapes of JSON and code within the text, and across characters that are not seen. Of Base64, the whole word is replaced.

`

const referenceNamed = `| ` + "`password`" + ` | the value of a name such as password, passwd, DB_PASS, Passwort: as ` + "`name = value`, `name: value`, `--name value`" + `, or as the member of an object; of at least six characters, of two kinds | medium |
| ` + "`api-key`" + ` | the value of a name such as api_key, clientSecret, AUTH_TOKEN: at least sixteen characters with digits, and at least three bits of entropy per character | medium |
| ` + "`aws-secret-key`" + ` | 40 characters behind an access key, or as the value of such a name with aws in it | critical; by its name medium |

Not found: credentials that are split over several strings, encrypted or compressed, encoded twice or in hexadecimal; passwords of words only in running text.
`

const referenceInvisible = `Characters that people do not see and machines read. Emoji sequences, joiners of Persian, Arabic and Indic scripts, marks in right-to-left text, spaces of Thai and Khmer,
variants of Han characters are no findings. ` + "`ansi-color`" + ` counts only if detect names it.

`

const referencePII = `Personal data that has a form. Names and addresses of people have none and are not found.

`

const referenceInjection = `How much a result looks like an attempt to instruct the model, from 0 to 1. Rules read it as ` + "`mcp.result.injection_score`" + `; the plugin itself decides nothing, so its mode is
observe. A score of threshold or more (default 0.5) is noted with its features. Each feature counts once per result; the score is 1 less the product of what each leaves:
features of 0.7 and 0.4 give 1 - 0.3 × 0.6 = 0.82. Full-width and mathematical letters, tags, and letters parted by what is not seen are read as what they stand for. It is a
heuristic about words: an article about such attacks scores high, and an attack in words of its own scores low.

`

const referenceRest = `
## size

What is larger than ` + "`max`" + ` (default 1 MiB, at least 1 KiB, at most 1 GiB): the whole result, or the arguments. redact cuts the longest texts of a result and says at their end how much
is shown; the whole is in the record of the call (within ` + "`limits.ledger_body`" + `). A result that is large without long texts, or for its pictures, is withheld. Arguments are never cut,
since half a file is worse than none: such a call is blocked.

## taint

Marks sessions with labels that rules read as ` + "`session.labels`" + `. ` + "`labels`" + ` says which labels a result of a SERVER or SERVER/TOOL sets; patterns with ` + "`*`, `?` and `[a-z]`" + ` are permitted.
Besides, by ` + "`detect`" + `:

| source | label | default | when |
|---|---|---|---|
| ` + "`open-world`" + ` | ` + "`untrusted-content`" + ` | yes | the tool does not say ` + "`openWorldHint: false`" + `, and no entry of labels names its server or tool |
| ` + "`declared-open-world`" + ` | ` + "`untrusted-content`" + ` | no | the tool says ` + "`openWorldHint: true`" + `; instead of the former |
| ` + "`injection`" + ` | ` + "`untrusted-content`" + ` | yes | the score is ` + "`threshold`" + ` or more |
| ` + "`findings`" + ` | ` + "`private-data`" + ` | yes | secrets or pii found something, in arguments or in a result |

The last two need those plugins to run.

## WebAssembly

A plugin of your own is a module for WASI preview 1 (a *reactor*: a library, not a program). It is given nothing behind WASI: no files, no network, no environment, no arguments; its
clock stands at the first second of 2026. Each run has a new instance, so nothing of one call is there in another. Bounds: the file 64 MiB; memory 128 MiB; what is handed over and
what is answered 16 MiB each; ` + "`timeout`" + ` (1 ms to 10 s, default 100 ms) for a run, 5 s more for the start of an instance; eight runs at the same time. Whatever goes beyond is a failure,
and a failure blocks the call.

The module exports its ` + "`memory`" + ` and these functions:

| function | what it does |
|---|---|
| ` + "`durward_abi() -> i32`" + ` | returns 1, the version of this interface |
| ` + "`durward_alloc(size: i32) -> i32`" + ` | returns the address of size bytes, into which the input is written |
| ` + "`durward_run(address: i32, size: i32) -> i64`" + ` | looks at the input and returns its answer: address << 32 \| size |
| ` + "`_initialize()`" + ` | optional; called once before all others |

The input and the answer are JSON:

` + "```json" + `
{"abi":1, "stage":"preprocess", "method":"tools/call", "server":"notes", "name":"write", "principal":"local", "payload":{"name":"write","arguments":{}}}
{"action":"allow", "reason":"", "detection":"medium", "findings":[{"kind":"codename"}], "labels":["codenames"], "payload":{"name":"write","arguments":{}}}
` + "```" + `

Stage is preprocess, with the params as payload, or postprocess, with the result. All of the answer is optional: ` + "`{}`" + ` lets pass. Other members are refused.

- action: allow, ask or block. About a result nobody is asked; there, ask blocks.
- reason: for the operator, up to 256 bytes. It is kept, so it must not hold what was found.
- findings: at most 10,000, with kinds of up to 64 characters of a-z, 0-9, dot, hyphen and underscore; counted in the record.
- labels: at most 16, set on the session.
- payload: goes on in place of what came. It must be an object, and of a request the members that say where it goes (name, uri, ref, cursor, …) must stay.

In mode observe only findings and labels count; in mode block a finding blocks and the payload is not taken. An example in Go is in
` + "`internal/plugin/testdata/wasm/codenames`" + `:

` + "```sh" + `
GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o codenames.wasm .
` + "```" + `
`
