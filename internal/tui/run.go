package tui

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"durward/client"
)

// Service is where the questions come from: package client.
type Service interface {
	Approval(ctx context.Context, id string) (*client.ApprovalDetail, error)
	Answer(ctx context.Context, id string, a client.ApprovalAnswer) (*client.ApprovalRecord, error)
	WatchApprovals(ctx context.Context, f func(client.ApprovalEvent) bool) error
}

// Options configure the screen.
type Options struct {
	Service Service
	In      io.Reader
	Out     io.Writer
	Now     func() time.Time // for tests
	// Again is how long is waited until a service that ended is asked again; default 1 s.
	Again time.Duration
	// Width and Height are the size of the screen until the terminal says another.
	Width, Height int
}

// Run shows the screen until the person leaves it or ctx ends.
func Run(ctx context.Context, opt Options) error {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Again <= 0 {
		opt.Again = time.Second
	}
	ctx, cancel := context.WithCancel(ctx)
	settings := []tea.ProgramOption{tea.WithContext(ctx), tea.WithInput(opt.In), tea.WithOutput(opt.Out), tea.WithoutSignalHandler()}
	if opt.Width > 0 && opt.Height > 0 {
		settings = append(settings, tea.WithWindowSize(opt.Width, opt.Height))
	}
	program := tea.NewProgram(newModel(ctx, opt), settings...)
	var watching sync.WaitGroup
	watching.Go(func() { watch(ctx, opt, program.Send) })
	watching.Go(func() { tick(ctx, program.Send) })
	_, err := program.Run()
	asked := ctx.Err() != nil
	cancel()
	watching.Wait()
	if asked && errors.Is(err, tea.ErrProgramKilled) {
		err = nil // it was told to end
	}
	return err
}

// The messages of the watcher.
type (
	beginMsg struct{}                       // all questions that are open follow
	eventMsg struct{ client.ApprovalEvent } // one
	endMsg   struct{ err error }            // the service does not tell any more
	tickMsg  struct{}                       // a second went by
)

// watch tells the screen what happens, for as long as there is a service.
func watch(ctx context.Context, opt Options, send func(tea.Msg)) {
	timer := time.NewTimer(opt.Again)
	defer timer.Stop()
	for ctx.Err() == nil {
		send(beginMsg{})
		err := opt.Service.WatchApprovals(ctx, func(e client.ApprovalEvent) bool {
			send(eventMsg{e})
			return e.Type != client.ApprovalLost // what was lost is told anew
		})
		if err == nil {
			continue
		}
		send(endMsg{err})
		timer.Reset(opt.Again)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
}

// tick tells the screen that time goes by.
func tick(ctx context.Context, send func(tea.Msg)) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			send(tickMsg{})
		}
	}
}
