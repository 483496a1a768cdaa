package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"durward"
	"durward/client"
	"durward/internal/config"
	"durward/internal/paths"
)

// examine makes all checks.
func examine(ctx context.Context) []finding {
	c, found := examineConfig()
	findings := []finding{found}
	status, err := client.New(paths.Socket()).Status(ctx)
	findings = append(findings, examineFiles(err == nil)...)
	findings = append(findings, examineService(status, err)...)
	if err == nil {
		findings = append(findings, examineServers(status.Servers)...)
	}
	if c != nil {
		findings = append(findings, examinePrograms(c.Servers)...)
	}
	return findings
}

func examineConfig() (*config.Config, finding) {
	file := paths.Config()
	opt := loadOptions(file)
	opt.Optional = true
	c, err := config.Load(opt)
	switch {
	case err != nil:
		return nil, finding{"configuration", levelError, err.Error(), "correct the file; durward config validate checks it"}
	case !c.HasUserFile():
		return c, finding{"configuration", levelWarning, "there is no " + file + "; the defaults are used", "durward server add NAME -- COMMAND writes one"}
	default:
		return c, finding{"configuration", levelOK, fmt.Sprintf("%s: %d servers, %d toolsets", file, len(c.Servers), len(c.Toolsets)), ""}
	}
}

// examineFiles looks at what only the owner may open, and at what is left over.
func examineFiles(running bool) []finding {
	var out []finding
	for _, private := range []struct{ what, path string }{
		{"socket", paths.Socket()}, {"token", paths.Token()}, {"API token", paths.APIToken()}, {"API token for reading", paths.APIReadToken()}, {"seal keys", paths.SealKeys()},
		{"ledger", paths.Ledger()}, {"ledger key", paths.LedgerKey()},
	} {
		info, err := os.Stat(private.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			out = append(out, finding{private.what, levelError, err.Error(), ""})
		case info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows":
			out = append(out, finding{private.what, levelError, fmt.Sprintf("others can open %s (mode %o)", private.path, info.Mode().Perm()), "chmod 600 " + shellQuote(private.path)})
		default:
			out = append(out, finding{private.what, levelOK, private.path + " is for its owner only", ""})
		}
	}
	if !running {
		for _, path := range []string{paths.Socket(), paths.Address()} {
			if _, err := os.Stat(path); err == nil {
				out = append(out, finding{"leftover", levelWarning, path + " is left from a service that was killed", "nothing to do: the next service replaces it"})
			}
		}
	}
	return out
}

func examineService(s *client.Status, err error) []finding {
	if err != nil {
		return []finding{{"service", levelWarning, err.Error(), "durward serve runs it here, durward service install always"}}
	}
	out := []finding{{"service", levelOK, fmt.Sprintf("version %s runs as pid %d, HTTP on %s", s.Version, s.PID, s.Address), ""}}
	if s.Version != Version() {
		out = append(out, finding{"version", levelWarning, fmt.Sprintf("the service is version %s, this program %s", s.Version, Version()), "restart the service"})
	}
	switch {
	case s.LedgerProblem != "":
		out = append(out, finding{"ledger", levelError, s.LedgerProblem, "end the fault that it names; calls go on by themselves then"})
	case strings.HasPrefix(s.Ledger, "none"):
		out = append(out, finding{"ledger", levelWarning, s.Ledger, "remove ledger.enabled from the configuration, or set it to true, and restart the service"})
	}
	if s.Config.Problem != "" {
		out = append(out, finding{"reload", levelError, "the file is not what runs: " + s.Config.Problem, "correct " + s.Config.File})
	}
	return out
}

func examineServers(servers []durward.ServerStatus) []finding {
	var out []finding
	for i := range servers {
		s := &servers[i]
		f := finding{Check: "server " + s.Name, Level: levelOK, Detail: fmt.Sprintf("%s, %d tools", s.State, s.Tools)}
		switch {
		case s.State == durward.StateBackoff, s.State == durward.StateConnecting && s.Reason != "": // it failed, and is tried again
			f.Level, f.Detail = levelError, s.Reason
			f.Fix = fmt.Sprintf("correct the cause, then: durward server restart %s (stderr: durward server logs %s)", s.Name, s.Name)
		case s.State == durward.StateDegraded:
			f.Level, f.Detail, f.Fix = levelWarning, s.Reason, "durward server refresh "+s.Name
		case s.State == durward.StateConnecting:
			f.Level, f.Detail = levelWarning, "it is starting"
		case s.State == durward.StateDisabled:
			f.Detail = "disabled"
		}
		out = append(out, f)
		for _, problem := range s.Problems {
			out = append(out, finding{f.Check, levelWarning, problem, "durward server show " + s.Name})
		}
		if slices.Contains([]string{"process-group", "process"}, s.Confined) {
			out = append(out, finding{f.Check, levelWarning, "its processes are held together by " + s.Confined + " only: a descendant could outlive it", ""})
		}
	}
	return out
}

// examinePrograms looks for the programs that servers are started with.
func examinePrograms(servers []durward.Server) []finding {
	seen := map[string]bool{}
	var out []finding
	for i := range servers {
		s := &servers[i]
		if s.Command == "" || s.Disabled || s.Env["PATH"] != "" || seen[s.Command] {
			continue
		}
		seen[s.Command] = true
		path, err := exec.LookPath(s.Command)
		if err == nil {
			out = append(out, finding{"program " + s.Command, levelOK, path, ""})
			continue
		}
		f := finding{"program " + s.Command, levelError, "server " + s.Name + " needs it and it is not in the PATH", "install it, or give its full path as command"}
		if needs := runtimeOf(s.Command); needs != "" {
			f.Fix = "install " + needs
		}
		out = append(out, f)
	}
	return out
}
