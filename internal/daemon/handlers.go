package daemon

import (
	"net/http"

	"durward"
	"durward/internal/control"
)

// publicHandler serves what is reached by HTTP: the MCP routes and the health
// checks. The service API is not there: the bearer token is in the hands of
// agents, and the API could run any program.
func (s *Service) publicHandler() http.Handler {
	api := s.api(func(*http.Request) (durward.Caller, error) {
		return durward.Caller{}, durward.Errorf(durward.NotFound, "", "the service API is on the unix socket only")
	})
	mcp := s.gateway.Handler()
	return s.activity.watch(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
			api.ServeHTTP(w, r)
			return
		}
		mcp.ServeHTTP(w, r)
	}))
}

// ownerHandler serves what is reached over the unix socket: all of it. Who only
// looks at the state does not keep a service alive that ends when it is idle.
func (s *Service) ownerHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", s.activity.watch(s.gateway.Handler()))
	api := s.api(s.gateway.Admit)
	mux.Handle("/api/v1/", s.activity.watch(api))
	mux.Handle("/api/v1/status", api)
	mux.Handle("/healthz", api)
	mux.Handle("/readyz", api)
	mux.Handle("/api/v1/stdio", s.activity.watch(s.gateway.StdioHandler()))
	return mux
}

func (s *Service) api(authorize func(*http.Request) (durward.Caller, error)) http.Handler {
	return control.New(control.Options{
		Service: s, Servers: (*servers)(s), Steering: (*steering)(s), Offer: (*offer)(s), Configuration: s,
		Watch: s.events.watch, Authorize: authorize, Done: s.stopping, Version: s.opt.Version,
	})
}
