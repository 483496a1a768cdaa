package upstream_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream"
	"durward/internal/wire"
)

// dual is a server of both eras: it is opened in the era that is asked for.
func dual(_ int, spec exchange.LinkSpec) act {
	if spec.Era == wire.Legacy {
		return act{opened: legacyOpened(`{}`)}
	}
	return act{opened: modernOpened(`{}`)}
}

func TestAServerOfBothErasIsSpokenToInTheClients(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: dual})
		for range 3 {
			if reply := r.call(alice()); reply.Era != wire.Legacy {
				t.Errorf("a legacy requester was answered by era %q", reply.Era)
			}
			if reply := r.Do(context.Background(), alice(), modernTool(), &stream{}); reply.Era != wire.Modern {
				t.Errorf("a modern requester was answered by era %q", reply.Era)
			}
		}
		if n := len(r.world.openings()); n != 2 {
			t.Errorf("%d connections", n)
		}
	})
}

func TestTheOtherEraIsTriedOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, overHTTP(), &world{script: func(_ int, spec exchange.LinkSpec) act {
			if spec.Era == wire.Legacy {
				return act{closed: &exchange.Closed{EraRefused: wire.Legacy, Fault: exchange.Fault{Message: "initialize refused"}}}
			}
			return act{opened: modernOpened(`{}`)}
		}})
		for range 5 {
			if reply := r.call(alice()); reply.Error != nil || reply.Era != wire.Modern {
				t.Errorf("reply %+v", reply)
			}
			wait(time.Minute)
		}
		if n := len(r.world.openings()); n != 2 {
			t.Errorf("%d connections, want one try of the other era", n)
		}
		r.wantState(t, durward.StateReady)
	})
}

func TestAnOutageOfTheOtherEraFallsBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		broken := true
		r := start(t, overHTTP(), &world{script: func(_ int, spec exchange.LinkSpec) act {
			if spec.Era == wire.Legacy && broken {
				return act{err: exited()}
			}
			return dual(0, spec)
		}})
		if reply := r.call(alice()); reply.Error != nil || reply.Era != wire.Modern {
			t.Errorf("reply %+v", reply)
		}
		broken = false
		wait(2 * time.Second)
		if reply := r.call(alice()); reply.Era != wire.Legacy {
			t.Errorf("reply %+v", reply)
		}
	})
}

func TestALegacyServerIsNotTriedAsModern(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{})
		if reply := r.Do(context.Background(), alice(), modernTool(), &stream{}); reply.Era != wire.Legacy {
			t.Errorf("reply %+v", reply)
		}
		if n := len(r.world.openings()); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

func TestInstances(t *testing.T) {
	a2 := upstream.Key{Principal: "alice", Session: "a2"}
	for _, tc := range []struct {
		instances durward.Instances
		conns     int
	}{
		{durward.InstancesShared, 1},
		{durward.InstancesPrincipal, 2}, // the first principal gets the one that listed
		{durward.InstancesSession, 4},   // the one that listed is nobody's
	} {
		t.Run(string(tc.instances), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				spec := stdio()
				spec.Instances = tc.instances
				r := start(t, spec, &world{})
				seen := map[string]upstream.Key{}
				for range 3 {
					for _, key := range []upstream.Key{alice(), a2, bob()} {
						reply := r.call(key)
						wantOK(t, reply)
						other, used := seen[string(reply.Result)]
						if tc.instances == durward.InstancesSession && used && other != key {
							t.Errorf("%v and %v share a connection", key, other)
						}
						if tc.instances == durward.InstancesPrincipal && used && other.Principal != key.Principal {
							t.Errorf("%v and %v share a connection", key, other)
						}
						seen[string(reply.Result)] = key
					}
				}
				if n := len(r.world.openings()); n != tc.conns {
					t.Errorf("%d connections, want %d", n, tc.conns)
				}
			})
		})
	}
}

func TestASessionsConnectionEndsWithIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		spec := stdio()
		spec.Instances = durward.InstancesSession
		r := start(t, spec, &world{})
		req := tool()
		req.Client.Capabilities = []byte(`{"roots":{}}`)
		wantOK(t, r.Do(context.Background(), alice(), req, &stream{}))
		if got := string(r.world.conn(1).spec.Capabilities); got != `{"roots":{}}` {
			t.Errorf("a session's own connection was opened with the capabilities %s", got)
		}
		r.EndSession("a1")
		synctest.Wait()
		if !r.world.conn(1).isStopped() || r.world.conn(0).isStopped() {
			t.Error("the wrong connection ended")
		}
		r.wantState(t, durward.StateReady)
	})
}

func TestUnusedInstancesAreStopped(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		spec := stdio()
		spec.Instances = durward.InstancesSession
		r := start(t, spec, &world{})
		r.Retain()
		wantOK(t, r.call(alice()))
		wantOK(t, r.call(bob()))
		for range 30 {
			wait(time.Minute)
			wantOK(t, r.call(bob()))
		}
		if !r.world.conn(1).isStopped() {
			t.Error("a connection without calls for half an hour still runs")
		}
		if r.world.conn(2).isStopped() || r.world.conn(0).isStopped() {
			t.Error("a connection in use was stopped")
		}
	})
}

func TestInstancesAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		spec := stdio()
		spec.Instances = durward.InstancesSession
		r := start(t, spec, &world{}, func(o *upstream.Options) { o.Limits.Instances = 3 })
		for i := range 3 {
			wantOK(t, r.call(upstream.Key{Session: fmt.Sprint(i)}))
		}
		wantCode(t, r.call(upstream.Key{Session: "one too many"}), wire.CodeUnavailable, "limits.instances")
	})
}

func TestAnInstanceThatDiesIsOpenedOnTheNextDemand(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		spec := stdio()
		spec.Instances = durward.InstancesSession
		r := start(t, spec, &world{})
		wantOK(t, r.call(alice()))
		r.world.conn(1).die()
		wait(time.Minute)
		if n := len(r.world.openings()); n != 2 {
			t.Errorf("%d openings without demand", n)
		}
		wantOK(t, r.call(alice()))
		r.wantState(t, durward.StateReady)
	})
}

func TestAHundredWaitersShareOneRedial(t *testing.T) {
	for name, tt := range map[string]struct {
		spec  durward.Server
		lose  func(t *testing.T, r *rig)
		opens int
	}{
		"never started": {stdio(), func(*testing.T, *rig) {}, 1},
		"dead": {stdio(), func(t *testing.T, r *rig) {
			wantOK(t, r.call(bob()))
			r.world.conn(0).die()
		}, 2},
		"dead, and they are of many": {stdio(), func(t *testing.T, r *rig) {
			r.world.conn(0).emit(&exchange.ServerRequest{ID: 1, Method: wire.MethodRootsList}) // one for each principal from now on
			wantOK(t, r.call(alice()))
			r.world.conn(0).die()
		}, 2},
		"idle": {stdio(), func(*testing.T, *rig) { wait(time.Hour) }, 2},
		"a site that is gone": {overHTTP(), func(_ *testing.T, r *rig) {
			r.world.conn(0).end(&exchange.Closed{Phase: exchange.PhaseReady, Fault: exchange.Fault{Kind: uint8(durward.Unavailable), Message: "it ended its stream"}})
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRig(t, tt.spec, &world{script: func(n int, _ exchange.LinkSpec) act {
					return act{delay: time.Duration(n) * 3 * time.Second}
				}})
				if tt.opens > 1 {
					r.Start()
					synctest.Wait()
				}
				tt.lose(t, r)
				var replies []<-chan exchange.Reply
				for range 100 {
					replies = append(replies, r.going(context.Background(), alice(), tool(), &stream{}))
				}
				for _, reply := range replies {
					got := <-reply
					wantOK(t, got)
					if got.Attempts != 1 {
						t.Errorf("%d attempts", got.Attempts)
					}
				}
				if n := len(r.world.openings()); n != tt.opens {
					t.Errorf("%d connections, want %d", n, tt.opens)
				}
			})
		})
	}
}
