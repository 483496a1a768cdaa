package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"durward"
)

// idle looks at the memory of a gateway that does nothing, alone and with 1,000 legacy sessions.
func idle(ctx context.Context, b *harness) error {
	const sessions = 1000
	gateway, through, err := b.gateway(ctx, b.configure(paths()[0].config, endpoint{}))
	if gateway != nil {
		defer gateway.stop()
	}
	if err != nil {
		return err
	}
	if _, _, _, err := listAll(through); err != nil { // the server is up after this
		return err
	}
	alone := gateway.usage().rssKB
	client := &http.Client{}
	for range sessions {
		if _, err := openSession(ctx, client, through); err != nil {
			return err
		}
	}
	with := gateway.usage().rssKB
	fmt.Printf("bench-idle rss_kb=%d sessions=%d sessions_rss_kb=%d\n", alone, sessions, with-alone)
	b.target(alone <= 30<<10, "idle: %d kB resident, allowed %d", alone, 30<<10)
	b.target(with-alone <= 25<<10, "idle: %d sessions cost %d kB, allowed %d", sessions, with-alone, 25<<10)
	return nil
}

func openSession(ctx context.Context, client *http.Client, e endpoint) (id string, err error) {
	const body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"sampling":{}},"clientInfo":{"name":"bench","version":"1"}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+e.address+e.path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+e.token)
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	id = resp.Header.Get("Mcp-Session-Id")
	if resp.StatusCode != http.StatusOK || id == "" {
		return "", fmt.Errorf("initialize answered %s", resp.Status)
	}
	return id, resp.Body.Close()
}

// startMany starts 50 servers of which 5 hang and 5 are missing, and asks at
// once for the list: it must come within a second of the healthy ones being ready.
func startMany(ctx context.Context, b *harness) error {
	const healthy, broken = 40, 5
	var config strings.Builder
	config.WriteString(off + "servers:\n")
	for i := range broken {
		fmt.Fprintf(&config, "  hang-%d: {command: ECHO, args: [\"-hang\"]}\n  missing-%d: {command: /nonexistent/server}\n", i, i)
	}
	for i := range healthy {
		fmt.Fprintf(&config, "  ok-%d: {command: ECHO}\n", i)
	}
	began := time.Now()
	gateway, through, err := b.gateway(ctx, b.configure(config.String(), endpoint{}))
	if gateway != nil {
		defer gateway.stop()
	}
	if err != nil {
		return err
	}
	_, tools, _, err := listAll(through)
	if err != nil {
		return err
	}
	listed := time.Now()
	last, ready, err := lastReady(gateway)
	if err != nil {
		return err
	}
	after := listed.Sub(last)
	fmt.Printf("bench-start servers=%d ready=%d tools=%d list_ms=%d after_ready_ms=%d\n",
		healthy+2*broken, ready, tools, listed.Sub(began).Milliseconds(), after.Milliseconds())
	b.target(ready == healthy && tools == 2*healthy, "start: %d servers ready and %d tools listed, wanted %d and %d", ready, tools, healthy, 2*healthy)
	b.target(after <= time.Second, "start: the list came %s after the last server was ready, allowed 1s", after)
	return nil
}

// lastReady returns when the last server became ready, and how many are.
func lastReady(gateway *process) (last time.Time, ready int, err error) {
	var status struct{ Servers []durward.ServerStatus }
	if err := gateway.get("/api/v1/status", &status); err != nil {
		return last, 0, err
	}
	for _, s := range status.Servers {
		if s.State != durward.StateReady {
			continue
		}
		ready++
		if s.Since.After(last) {
			last = s.Since
		}
	}
	return last, ready, nil
}
