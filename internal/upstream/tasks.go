package upstream

import (
	"context"
	"slices"

	"durward"
	"durward/internal/wire"
)

// knowsTasks is what a listen for tasks declares, which a server insists on
// (tasks extension, "Task Status Notifications").
const knowsTasks = `{"extensions":{"` + wire.ExtensionTasks + `":{}}}`

// awaitsTool reports whether a request takes as long as a tool does: tasks/result is
// answered when the call that became a task is over (2025-11-25,
// basic/utilities/tasks "Result Retrieval").
func awaitsTool(method string) bool {
	return method == wire.MethodToolsCall || method == wire.MethodTasksResult
}

// SubscribeTask asks a modern server to tell what becomes of a task, and reports
// whether it agreed: only then the Observer will hear of it, as notifications/tasks.
// A server that has connections besides the shared one is not asked: the task may
// live behind another than the one that listens.
func (s *Server) SubscribeTask(ctx context.Context, id string) (bool, error) {
	c, acked, err := s.subscribeTask(ctx, id)
	if err != nil {
		return false, err
	}
	if acked != nil {
		awaitAck(ctx, c, acked)
	}
	s.mu.Lock()
	agreed := s.listen.honoured[id]
	s.mu.Unlock()
	if !agreed {
		s.UnsubscribeTask(id)
	}
	return agreed, nil
}

// subscribeTask returns what to wait for, nil if the server has agreed before.
func (s *Server) subscribeTask(ctx context.Context, id string) (*conn, <-chan struct{}, error) {
	if err := s.lockSub(ctx); err != nil {
		return nil, nil, err
	}
	defer s.unlockSub()
	c, err := s.primaryConn(ctx)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.tellsOfTasks() || s.instances != durward.InstancesShared || s.listen.refused[id] {
		return nil, nil, durward.Errorf(durward.Unavailable, s.op(), "it does not tell what becomes of tasks; ask it with tasks/get")
	}
	if s.listen.tasks[id] == 0 {
		if err := s.fullOfSubscriptions(); err != nil {
			return nil, nil, err
		}
	}
	if s.listen.tasks == nil {
		s.listen.tasks = map[string]int{}
	}
	s.listen.tasks[id]++
	if s.listen.honoured[id] {
		return nil, nil, nil
	}
	acked := make(chan struct{})
	s.listen.waiters = append(s.listen.waiters, acked)
	s.relisten()
	return c, acked, nil
}

// UnsubscribeTask takes one SubscribeTask back that the server agreed to.
func (s *Server) UnsubscribeTask(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch n := s.listen.tasks[id]; {
	case n > 1:
		s.listen.tasks[id]--
	case n == 1:
		delete(s.listen.tasks, id)
		delete(s.listen.honoured, id)
		delete(s.listen.refused, id)
		s.relisten()
	}
}

// tellsOfTasks reports whether the server is a modern one with the extension.
func (c *conn) tellsOfTasks() bool {
	return c.opened.Era == wire.Modern && wire.Get(wire.Get(c.opened.Capabilities, "extensions"), wire.ExtensionTasks) != nil
}

// mayAskOfTasks reports whether the server was told that its client keeps tasks
// (2025-11-25, basic/utilities/tasks "Client Capabilities"). Of a client of several
// servers one could ask for the tasks of another. mu is held.
func (c *conn) mayAskOfTasks() bool { return wire.Lookup(c.link.capabilities, "tasks").Present() }

// honour notes what a listen's acknowledgement agrees to. mu is held.
func (l *listenState) honour(ids []byte) {
	l.honoured = make(map[string]bool, len(l.tasks))
	for at := range wire.Elements(ids) {
		if id, ok := wire.Unquote(at.Of(ids)); ok && l.tasks[id] > 0 {
			l.honoured[id] = true
		}
	}
}

// followed returns the ids that a listen asks for, in order.
func (l *listenState) followed() []string {
	ids := make([]string, 0, len(l.tasks))
	for id := range l.tasks {
		if !l.refused[id] {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// leaveOutTasks takes tasks out of a listen that the server refused, so that what
// else it carries does not suffer: those it never agreed to, or if there are none
// all of them. Nobody is told of those any more.
func (s *Server) leaveOutTasks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.listen
	asked := l.followed()
	if len(asked) == 0 {
		return
	}
	if l.refused == nil {
		l.refused = map[string]bool{}
	}
	left := len(asked)
	for _, id := range asked {
		if !l.honoured[id] {
			l.refused[id] = true
			left--
		}
	}
	if left == len(asked) {
		for _, id := range asked {
			l.refused[id] = true
			delete(l.honoured, id)
		}
	}
	s.relisten()
}
