package main

// target is one server behind the gateway.
type target struct {
	name           string
	http           bool
	legacy, modern bool // eras it speaks
	idempotent     bool // the operator declared that its tools may be called twice
}

func (t *target) era() string {
	switch {
	case !t.modern:
		return "legacy"
	case !t.legacy:
		return "modern"
	default:
		return "both"
	}
}

// targets are the servers of the matrix.
func targets() []target {
	return []target{
		{name: "stdio-legacy", legacy: true},
		{name: "stdio-modern", modern: true},
		{name: "stdio-both", legacy: true, modern: true},
		{name: "http-legacy", http: true, legacy: true},
		{name: "http-modern", http: true, modern: true},
		{name: "http-both", http: true, legacy: true, modern: true},
		{name: "idem-stdio", legacy: true, modern: true, idempotent: true},
		{name: "idem-http", http: true, legacy: true, modern: true, idempotent: true},
	}
}

func idempotent() map[string]bool {
	out := map[string]bool{}
	for _, t := range targets() {
		out[t.name] = t.idempotent
	}
	return out
}
