package daemon

import (
	"errors"

	"durward/client"
	"durward/internal/config"
	"durward/internal/control"
	"durward/internal/yamlx"
)

var _ control.Configuration = (*Service)(nil)

// Config implements control.Configuration.
func (s *Service) Config() client.Config {
	s.mu.Lock()
	c := s.config
	s.mu.Unlock()
	out := client.Config{ConfigStatus: s.Status().Config, Settings: []client.Setting{}}
	for _, set := range c.Settings() {
		out.Settings = append(out.Settings, client.Setting{
			Path: set.Path, Value: c.Redact(set.Value), Layer: string(set.Layer), File: set.File, Line: set.Line,
		})
	}
	return out
}

// Validate implements control.Configuration.
func (s *Service) Validate(text string) client.Validated {
	out := client.Validated{Problems: []client.Problem{}}
	_, err := config.Check(s.configOptions(), []byte(text))
	var all yamlx.Problems
	switch {
	case err == nil:
	case errors.As(err, &all):
		for _, p := range all {
			out.Problems = append(out.Problems, client.Problem{
				Code: string(p.Code), File: p.File, Line: p.Line, Column: p.Column, Path: p.Path, Message: p.Message,
			})
		}
	default:
		out.Problems = append(out.Problems, client.Problem{Message: err.Error()})
	}
	return out
}
