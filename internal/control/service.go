package control

import (
	"net/http"

	"durward/client"
)

func (a *api) status(w http.ResponseWriter, _ *request) error {
	return writeJSON(w, http.StatusOK, a.opt.Service.Status())
}

func (a *api) config(w http.ResponseWriter, _ *request) error {
	return writeJSON(w, http.StatusOK, a.opt.Configuration.Config())
}

func (a *api) validate(w http.ResponseWriter, r *request) error {
	var in client.ValidateRequest
	if err := r.body(&in); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, a.opt.Configuration.Validate(in.Text))
}

func (a *api) reload(w http.ResponseWriter, r *request) error {
	if err := a.opt.Configuration.ReloadBy(r.caller); err != nil {
		return err
	}
	st := a.opt.Service.Status()
	return writeJSON(w, http.StatusOK, client.Reloaded{File: st.Config.File, Servers: len(st.Servers)})
}

func (a *api) listKeys(w http.ResponseWriter, _ *request) error {
	return writeJSON(w, http.StatusOK, a.opt.Keys.List())
}

func (a *api) rotateKeys(w http.ResponseWriter, r *request) error {
	keys, err := a.opt.Keys.Rotate(r.caller)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, keys)
}

func (a *api) listServers(w http.ResponseWriter, _ *request) error {
	return writeJSON(w, http.StatusOK, client.ServerList{Servers: a.opt.Service.Status().Servers})
}

func (a *api) addServer(w http.ResponseWriter, r *request) error {
	var in client.NewServer
	if err := r.body(&in); err != nil {
		return err
	}
	added, err := a.opt.Servers.Add(r.Context(), r.caller, in)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, added)
}

func (a *api) showServer(w http.ResponseWriter, r *request) error {
	s, err := a.opt.Steering.Show(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, s)
}

func (a *api) removeServer(w http.ResponseWriter, r *request) error {
	if err := a.opt.Servers.Remove(r.Context(), r.caller, r.PathValue("name")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *api) enableServer(w http.ResponseWriter, r *request) error { return a.enable(w, r, true) }

func (a *api) disableServer(w http.ResponseWriter, r *request) error { return a.enable(w, r, false) }

func (a *api) enable(w http.ResponseWriter, r *request, enabled bool) error {
	s, err := a.opt.Servers.Enable(r.Context(), r.caller, r.PathValue("name"), enabled)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, s)
}

func (a *api) refreshServer(w http.ResponseWriter, r *request) error {
	if err := a.opt.Steering.Refresh(r.Context(), r.PathValue("name")); err != nil {
		return err
	}
	return a.showServer(w, r)
}

func (a *api) restartServer(w http.ResponseWriter, r *request) error {
	if err := a.opt.Steering.Restart(r.Context(), r.PathValue("name")); err != nil {
		return err
	}
	return a.showServer(w, r)
}

func (a *api) serverLogs(w http.ResponseWriter, r *request) error {
	name := r.PathValue("name")
	said, err := a.opt.Steering.Stderr(name)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, client.Logs{Server: name, Stderr: said})
}
