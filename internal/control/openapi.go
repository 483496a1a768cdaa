package control

import (
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"durward"
	"durward/client"
)

//go:generate go test . -run UpToDate -update

// object is a JSON object of the OpenAPI document.
type object = map[string]any

// OpenAPI returns the OpenAPI 3.1 document of the service API, made of its route
// table and the types of package client.
func OpenAPI(version string) ([]byte, error) {
	d := document{schemas: object{}}
	paths := object{}
	for _, r := range routes() {
		operations, ok := paths[r.path].(object)
		if !ok {
			operations = object{}
			paths[r.path] = operations
		}
		operation, err := d.operation(r)
		if err != nil {
			return nil, err
		}
		operations[methodKey(r.method)] = operation
	}
	out, err := json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Durward service API", "version": version,
			"description": "HTTP and JSON on the unix socket of the service, for its owner only and without a token, and with api.listen in the configuration " +
				"on a loopback TCP address, with a bearer token. Every error has a body of type Failure.",
		},
		"paths":      paths,
		"components": object{"schemas": d.schemas, "securitySchemes": object{schemeName: securityScheme()}},
	}, "", "  ")
	return append(out, '\n'), err
}

// schemeName is what operations call the way to authenticate.
const schemeName = "token"

func securityScheme() object {
	return object{
		"type": "http", "scheme": "bearer",
		"description": "By TCP; on the unix socket the kernel says who calls, and only the scope approve takes a token. The tokens stand in the state " +
			"directory: api-token has the scope operate, api-token-read the scope read, and approver-token the scope approve. The first and the last " +
			"include read, and neither the other. Each operation names the scope that it takes, or those of which one will do.",
	}
}

func methodKey(method string) string { return strings.ToLower(method) }

// document collects the schemas that operations refer to.
type document struct{ schemas object }

var pathParameter = regexp.MustCompile(`\{([a-z]+)\}`)

func (d *document) operation(r route) (object, error) {
	security := []any{object{schemeName: []Scope{r.scope}}}
	if r.or != "" {
		security = append(security, object{schemeName: []Scope{r.or}})
	}
	op := object{"operationId": r.id, "summary": r.summary, "security": security}
	if r.stream != "" {
		op["description"] = r.stream
	}
	parameters := []any{}
	for _, m := range pathParameter.FindAllStringSubmatch(r.path, -1) {
		parameters = append(parameters, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, q := range r.query {
		parameters = append(parameters, object{"name": q.name, "in": "query", "description": q.doc, "schema": object{"type": "string"}})
	}
	if len(parameters) > 0 {
		op["parameters"] = parameters
	}
	if r.body != nil {
		ref, err := d.ref(r.body)
		if err != nil {
			return nil, err
		}
		op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": ref}}}
	}
	failed, err := d.ref(client.Failure{})
	if err != nil {
		return nil, err
	}
	done, err := d.success(r)
	if err != nil {
		return nil, err
	}
	op["responses"] = object{
		strconv.Itoa(statusOf(r)): done,
		"default":                 object{"description": "It failed.", "content": object{"application/json": object{"schema": failed}}},
	}
	return op, nil
}

func statusOf(r route) int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}

// success describes the answer when nothing failed.
func (d *document) success(r route) (object, error) {
	done := object{"description": "Done."}
	content := object{}
	if r.answer != nil {
		ref, err := d.ref(r.answer)
		if err != nil {
			return nil, err
		}
		if r.stream == "" || r.body != nil || r.also {
			content["application/json"] = object{"schema": ref}
		}
		if r.stream != "" {
			content["text/event-stream"] = object{"schema": object{"type": "string"}}
		}
	}
	if r.media != "" {
		content[r.media] = object{}
	}
	if len(content) > 0 {
		done["content"] = content
	}
	return done, nil
}

// ref returns a reference to the schema of a value's type.
func (d *document) ref(v any) (object, error) {
	t := reflect.TypeOf(v)
	if _, known := d.schemas[t.Name()]; !known {
		schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
			reflect.TypeFor[json.RawMessage]():     {}, // any JSON
			reflect.TypeFor[durward.ServerState](): {Type: "string", Enum: states()},
		}})
		if err != nil {
			return nil, durward.Errorf(durward.Internal, "openapi", "%s: %w", t.Name(), err)
		}
		d.schemas[t.Name()] = schema
	}
	return object{"$ref": "#/components/schemas/" + t.Name()}, nil
}

func states() []any {
	return []any{
		durward.StateConfigured, durward.StateConnecting, durward.StateReady, durward.StateDegraded, durward.StateBackoff, durward.StateDisabled,
	}
}

// openapi serves the document.
func (a *api) openapi(w http.ResponseWriter, _ *request) error {
	doc, err := OpenAPI(a.opt.Version)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(doc) // the client is gone if this fails
	return nil
}
