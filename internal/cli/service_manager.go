package cli

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"durward"
	"durward/internal/paths"
)

// manager is what starts services of a user on this system.
type manager struct {
	file       string // of the unit
	unit       string // its text
	start, end [][]string
	trouble    string // what to do when the commands fail
}

// thisManager describes the one of this system.
func thisManager() (*manager, error) {
	self, err := executable()
	if err != nil {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, durward.Errorf(durward.Unavailable, "", "your home directory is not known: %w", err)
	}
	switch runtime.GOOS {
	case "linux":
		return systemd(self, home, os.Getenv("PATH")), nil
	case "darwin":
		return launchd(self, home, os.Getenv("PATH")), nil
	default:
		return nil, withHint(durward.Errorf(durward.Unavailable, "", "Durward cannot install itself as a service on %s", runtime.GOOS),
			"have your system run: durward serve")
	}
}

// systemd is the user's instance of systemd.
func systemd(self, home, path string) *manager {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(home, ".config")
	}
	const name = "durward.service"
	return &manager{
		file: filepath.Join(dir, "systemd", "user", name),
		unit: "[Unit]\nDescription=Durward, the guard between AI agents and their tools\nAfter=network-online.target\n\n" +
			"[Service]\nExecStart=" + systemdQuote(self) + " serve\nExecReload=kill -HUP $MAINPID\n" +
			"Environment=" + systemdQuote("PATH="+path) + "\nRestart=on-failure\nRestartSec=5\n\n" +
			"[Install]\nWantedBy=default.target\n",
		start:   [][]string{{"systemctl", "--user", "daemon-reload"}, {"systemctl", "--user", "enable", "--now", name}},
		end:     [][]string{{"systemctl", "--user", "disable", "--now", name}},
		trouble: "systemd starts it with your next session; without systemd run: durward serve",
	}
}

// systemdQuote writes one word of a unit file (systemd.syntax, "Quoting").
func systemdQuote(word string) string {
	return strconv.Quote(strings.NewReplacer("%", "%%", "$", "$$").Replace(word))
}

// launchd is the user's domain of launchd.
func launchd(self, home, path string) *manager {
	const label = "dev.durward.service"
	file := filepath.Join(home, "Library", "LaunchAgents", label+".plist")
	domain := "gui/" + strconv.Itoa(os.Getuid())
	text := func(s string) string {
		var b strings.Builder
		_ = xml.EscapeText(&b, []byte(s)) // a builder takes everything
		return "<string>" + b.String() + "</string>"
	}
	log := text(paths.ServiceLog())
	return &manager{
		file: file,
		unit: `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key>` + text(label) + `
	<key>ProgramArguments</key><array>` + text(self) + text("serve") + `</array>
	<key>EnvironmentVariables</key><dict><key>PATH</key>` + text(path) + `</dict>
	<key>RunAtLoad</key><true/>
	<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
	<key>StandardOutPath</key>` + log + `
	<key>StandardErrorPath</key>` + log + `
</dict>
</plist>
`,
		start:   [][]string{{"launchctl", "bootstrap", domain, file}},
		end:     [][]string{{"launchctl", "bootout", domain + "/" + label}},
		trouble: "launchd starts it with your next session",
	}
}
