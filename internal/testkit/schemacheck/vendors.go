package schemacheck

import "regexp"

// Vendor is one way in which a vendor takes tools.
type Vendor string

// The vendors. The strict forms are those in which the model can be held to the schema.
const (
	Anthropic       Vendor = "anthropic"        // Messages API, input_schema
	AnthropicStrict Vendor = "anthropic-strict" // the same with strict: true
	OpenAI          Vendor = "openai"           // function tools, parameters
	OpenAIStrict    Vendor = "openai-strict"    // the same with strict: true
	Gemini          Vendor = "gemini"           // function declarations
)

// Vendors returns all of them.
func Vendors() []Vendor { return []Vendor{Anthropic, AnthropicStrict, OpenAI, OpenAIStrict, Gemini} }

// maxDescription is the longest description in bytes: OpenAI refused longer ones
// of functions, and no tool of ours needs more.
const maxDescription = 1024

// rules is the subset that one vendor takes.
type rules struct {
	name     *regexp.Regexp
	keywords []string // all others are refused

	closed       bool // every object says additionalProperties: false
	allRequired  bool // every property is required
	typeLists    bool // "type": ["string", "null"] is taken
	untypedEnum  bool // an enum needs no type
	textEnum     bool // values of an enum are strings
	emptyObjects bool // an object may have no property

	depth, properties, enums, text, optional int // most
}

// unbounded stands for what a vendor documents no bound for.
const unbounded = 1 << 30

// rulesOf returns the rules of a vendor, and why each is there.
func rulesOf(v Vendor) rules {
	r := rules{
		// All take up to 64 of these characters. (Some take dots as well.)
		name:      regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`),
		keywords:  jsonSchema(),
		typeLists: true, untypedEnum: true, emptyObjects: true,
		// The lowest bounds that any of them has had, which a tool of ours has no
		// reason to pass: 5 levels and 100 properties were OpenAI's first.
		depth: 5, properties: 100, enums: 500, text: 15_000, optional: unbounded,
	}
	switch v {
	case Anthropic, OpenAI:
		// No combinator at the top, type object at the top, items in arrays: see checker.
	case AnthropicStrict:
		// Numeric and length bounds cannot be compiled into a grammar; at most 24
		// optional properties in a request.
		r.keywords = append(common(), "const", "pattern", "format", "default")
		r.closed, r.optional = true, 24
	case OpenAIStrict:
		// What is optional must be required and nullable instead; lengths are not taken.
		r.keywords = append(common(), "const", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
			"multipleOf", "minItems", "maxItems")
		r.closed, r.allRequired = true, true
	case Gemini:
		// A subset of OpenAPI 3.0 in which unknown fields are errors ("Cannot find
		// field"), type is one word, enums are strings and "properties: should be
		// non-empty for OBJECT type". A name begins with a letter or an underscore.
		// additionalProperties stands in the JSON Schema form only; clients of the
		// other form drop it, and false loses nothing by that.
		r.name = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)
		r.keywords = append(common(), "format", "nullable", "default", "example", "pattern", "minimum", "maximum", "minItems", "maxItems",
			"minLength", "maxLength", "minProperties", "maxProperties", "propertyOrdering")
		r.typeLists, r.untypedEnum, r.textEnum, r.emptyObjects = false, false, true, false
	}
	return r
}

// common are the keywords that all vendors take.
func common() []string {
	return []string{"type", "title", "description", "properties", "required", "additionalProperties", "items", "enum", "anyOf"}
}

// jsonSchema are the keywords that are taken, if not enforced, without strict.
// References are not among them: not every client resolves them.
func jsonSchema() []string {
	return append(common(), "const", "default", "examples", "format", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
		"multipleOf", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "oneOf", "allOf", "not")
}
