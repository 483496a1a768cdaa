package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/internal/config"
	"durward/internal/paths"
)

func newService(std Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "service",
		Short: "Have the system run the service for you",
		RunE:  needsSubcommand,
	}
	cmd.AddCommand(newServiceInstall(std), newServiceUninstall(std), newServiceStatus(std))
	return cmd
}

func newServiceInstall(std Streams) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Start the service with your session: systemd or launchd",
		Long: "Start the service with your session, by a user unit of systemd or an agent of launchd. The PATH of this shell is\n" +
			"written into it, so that servers find their programs.\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runServiceInstall(cmd.Context(), dryRun, std) },
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show the file and the commands and do nothing")
	return cmd
}

func newServiceUninstall(std Streams) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Take back what service install did",
		Long:  "Take back what service install did: the service is stopped and does not start with your session any more.\n" + exitHelp,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runServiceUninstall(cmd.Context(), dryRun, std) },
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be done and do nothing")
	return cmd
}

func newServiceStatus(std Streams) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say whether the service is installed and whether it runs",
		Long:  "Say whether the service is installed and whether it runs.\n" + exitHelp,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runServiceStatus(cmd.Context(), json, std) },
	}
	jsonFlag(cmd, &json)
	return cmd
}

func runServiceInstall(ctx context.Context, dryRun bool, std Streams) error {
	m, err := thisManager()
	if err != nil {
		return err
	}
	if dryRun {
		return printPlan(std, "write "+m.file+":\n\n"+m.unit, m.start)
	}
	if err := config.Write(m.file, []byte(m.unit)); err != nil {
		return err
	}
	if err := run(ctx, m.start, false); err != nil {
		return withHint(err, "%s was written; %s", m.file, m.trouble)
	}
	_, err = fmt.Fprintf(std.Out, "the service is installed (%s) and started\n", m.file)
	return err
}

func runServiceUninstall(ctx context.Context, dryRun bool, std Streams) error {
	m, err := thisManager()
	if err != nil {
		return err
	}
	if dryRun {
		return printPlan(std, "remove "+m.file+"\n", m.end)
	}
	if _, err := os.Stat(m.file); errors.Is(err, fs.ErrNotExist) {
		return durward.Errorf(durward.NotFound, "", "the service is not installed: there is no %s", m.file)
	}
	stopped := run(ctx, m.end, true)
	if err := os.Remove(m.file); err != nil {
		return durward.Errorf(durward.Unavailable, "", "%s cannot be removed: %w", m.file, err)
	}
	if stopped != nil {
		return withHint(stopped, "%s was removed; %s", m.file, m.trouble)
	}
	_, err = fmt.Fprintln(std.Out, "the service is stopped and not installed any more")
	return err
}

// serviceStatus is what service status --json prints.
type serviceStatus struct {
	Installed bool   `json:"installed"`
	File      string `json:"file"`
	Running   bool   `json:"running"`
	PID       int    `json:"pid,omitempty"`
}

func runServiceStatus(ctx context.Context, json bool, std Streams) error {
	m, err := thisManager()
	if err != nil {
		return err
	}
	s := serviceStatus{File: m.file}
	_, missing := os.Stat(m.file)
	s.Installed = missing == nil
	if st, err := client.New(paths.Socket()).Status(ctx); err == nil {
		s.Running, s.PID = true, st.PID
	}
	if json {
		return printJSON(std.Out, s)
	}
	installed, running := "not installed", "does not run"
	if s.Installed {
		installed = "installed (" + s.File + ")"
	}
	if s.Running {
		running = fmt.Sprintf("runs as pid %d", s.PID)
	}
	_, err = fmt.Fprintf(std.Out, "the service is %s and %s\n", installed, running)
	return err
}

func printPlan(std Streams, first string, commands [][]string) error {
	if _, err := fmt.Fprintln(std.Out, first); err != nil {
		return err
	}
	for _, c := range commands {
		if _, err := fmt.Fprintln(std.Out, "run", shellLine(c[0], c[1:])); err != nil {
			return err
		}
	}
	return nil
}

// run runs commands; all of them if some may fail, else up to the first that does.
func run(ctx context.Context, commands [][]string, all bool) error {
	var failed error
	for _, c := range commands {
		out, err := exec.CommandContext(ctx, c[0], c[1:]...).CombinedOutput() //nolint:gosec // our own table
		if err == nil {
			continue
		}
		failed = durward.Errorf(durward.Unavailable, "", "%s failed: %w %s", shellLine(c[0], c[1:]), err, strings.TrimSpace(string(out)))
		if !all {
			return failed
		}
	}
	return failed
}

// executable is this program, as the system is to start it.
func executable() (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", durward.Errorf(durward.Unavailable, "", "the path of this program is not known: %w", err)
	}
	return self, nil
}
