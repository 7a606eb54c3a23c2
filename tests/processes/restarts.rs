//! Servers that die (requirement D5).

use std::time::Duration;

use mcp_protector::upstream::{Event, Exit, GiveUp, StartError, UpstreamFault};

use crate::processes::support::{Happened, Server, python, run, settings};

const ECHO_ONCE: &str = "import sys; print('echo ' + sys.stdin.readline().strip()); sys.exit(3)";

#[test]
fn a_server_that_died_is_restarted_and_its_death_told_once() {
    run(async {
        let mut server = Server::python(ECHO_ONCE);
        server.sender.handshake_completed();
        for round in 0..8 {
            let line = round.to_string();
            server.send(&line).await;
            assert_eq!(server.line().await, format!("echo {line}"));
            let died = server.event().await;
            let Event::Died {
                exit: Exit::Code(3),
                will_restart_in: Some(_),
            } = died
            else {
                panic!("{died:?}");
            };
            assert_eq!(server.event().await, Event::Restarted);
        }
        server.sender.stop().await;
    });
}

#[test]
fn the_delays_are_those_of_the_seed() {
    let delays = || {
        let mut delays = Vec::new();
        run(async {
            let mut server = Server::python("pass");
            server.sender.handshake_completed();
            for _ in 0..4 {
                if let Event::Died {
                    will_restart_in, ..
                } = server.event().await
                {
                    delays.push(will_restart_in.unwrap());
                }
                server.event().await;
            }
            server.sender.stop().await;
        });
        delays
    };
    let first = delays();
    assert_eq!(first, delays());
    assert!(
        first.windows(2).all(|pair| pair[0] < pair[1] * 2),
        "{first:?}"
    );
}

#[test]
fn a_server_that_never_completes_a_handshake_is_given_up_after_five_starts() {
    run(async {
        let mut server = Server::python("import sys; sys.exit(7)");
        let mut deaths = 0;
        let reason = loop {
            match server.event().await {
                Event::Died {
                    exit,
                    will_restart_in,
                } => {
                    deaths += 1;
                    assert_eq!(exit, Exit::Code(7));
                    assert_eq!(will_restart_in.is_none(), deaths == 5);
                }
                Event::GaveUp { reason } => break reason,
                Event::Restarted => {}
                event @ (Event::Line(_) | Event::Unread(_) | Event::Answered(..)) => {
                    panic!("{event:?}")
                }
            }
        };
        assert_eq!(
            reason,
            GiveUp::NeverReady {
                tries: 5,
                last: Exit::Code(7)
            }
        );
        assert_eq!(deaths, 5);
        assert_eq!(server.event().await, Event::GaveUp { reason }, "and again");
        let sent = server.sender.send("x".to_owned()).await;
        assert_eq!(sent, Err(UpstreamFault::Stopped));
    });
}

#[test]
fn what_only_the_kernel_can_refuse_is_a_start_error_too() {
    use std::os::unix::fs::PermissionsExt;
    for (content, cause) in [
        ("#!/no/such/interpreter\n", "No such file"),
        ("#!/etc/passwd\n", "Permission denied"),
    ] {
        run(async {
            let directory = tempfile::tempdir().unwrap();
            let program = directory.path().join("server");
            std::fs::write(&program, content).unwrap();
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
            let mut server = Server::start(settings(vec![program.to_str().unwrap().to_owned()]));
            let died = server.event().await;
            assert!(
                matches!(
                    died,
                    Event::Died {
                        exit: Exit::CannotStart(_),
                        ..
                    }
                ),
                "{died:?}"
            );
            let Event::GaveUp { reason } = server.event().await else {
                panic!("not given up")
            };
            let GiveUp::CannotStart(StartError::Refused { .. }) = &reason else {
                panic!("{reason:?}");
            };
            let text = reason.to_string();
            assert!(
                text.starts_with("`upstream.command`") && text.contains(cause),
                "{text}"
            );
        });
    }
}

#[test]
fn a_server_that_exits_like_a_missing_command_is_no_start_error() {
    run(async {
        let mut server = Server::python("import sys; sys.exit(127)");
        let died = server.event().await;
        assert!(
            matches!(
                died,
                Event::Died {
                    exit: Exit::Code(127),
                    ..
                }
            ),
            "{died:?}"
        );
        server.sender.stop().await;
    });
}

#[test]
fn a_signal_is_told_as_a_shell_tells_it() {
    run(async {
        let mut server = Server::python("import os; os.kill(os.getpid(), 9)");
        let Event::Died { exit, .. } = server.event().await else {
            panic!("not dead")
        };
        assert_eq!(exit.to_string(), "exit code 137 (signal 9)");
        server.sender.stop().await;
    });
}

#[test]
fn sending_to_a_dead_server_fails_and_nothing_reaches_the_next_one() {
    run(async {
        let mut settings = settings(python(ECHO_ONCE));
        settings.backoff.first = Duration::from_millis(200);
        let mut server = Server::start(settings);
        server.sender.handshake_completed();
        server.send("first").await;
        assert_eq!(server.line().await, "echo first");
        server.event().await; // died
        assert_eq!(
            server.sender.send("lost".to_owned()).await,
            Err(UpstreamFault::Down)
        );
        assert_eq!(server.event().await, Event::Restarted);
        server.send("second").await;
        assert_eq!(server.line().await, "echo second");
        server.sender.stop().await;
    });
}

#[test]
fn what_was_written_before_a_death_is_delivered_before_it_is_told() {
    run(async {
        let mut server = Server::python(
            "import os, sys\nfor i in range(50000): sys.stdout.write('line %d\\n' % i)\nsys.stdout.write('torn')\nsys.stdout.flush(); os._exit(1)",
        );
        for number in 0..50_000 {
            assert_eq!(server.line().await, format!("line {number}"));
        }
        assert_eq!(server.line().await, "torn");
        let died = server.event().await;
        assert!(
            matches!(
                died,
                Event::Died {
                    exit: Exit::Code(1),
                    ..
                }
            ),
            "{died:?}"
        );
        server.sender.stop().await;
    });
}

#[test]
fn a_server_that_closes_a_stream_but_lives_is_replaced() {
    for stream in [0, 1] {
        run(async {
            let script = format!(
                "import os, sys, time\nprint('ready')\nif sys.argv[1] == '1': time.sleep(60)\nos.close({stream})\ntime.sleep(60)"
            );
            let mut command = python(&script);
            command.push("0".to_owned());
            let mut server = Server::start(settings(command));
            assert_eq!(server.line().await, "ready");
            if stream == 0 {
                // A closed stdin shows when something is written to it.
                while server.sender.send("x".to_owned()).await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
            let died = server.event().await;
            assert!(
                matches!(
                    died,
                    Event::Died {
                        exit: Exit::Code(_),
                        ..
                    }
                ),
                "{died:?}"
            );
            assert_eq!(server.event().await, Event::Restarted);
            server.sender.stop().await;
        });
    }
}

#[test]
fn a_server_that_is_of_no_use_is_ended_and_another_one_started() {
    run(async {
        let mut server = Server::python(
            "import os, sys\nprint(os.getpid())\nfor line in sys.stdin: print('echo ' + line.strip())",
        );
        server.sender.handshake_completed();
        let first = server.line().await;
        server.sender.restart();
        let died = server.event().await;
        let Event::Died {
            exit: Exit::Code(0),
            will_restart_in: Some(_),
        } = died
        else {
            panic!("{died:?}");
        };
        // It was said of one that is gone: the next one stays.
        server.sender.restart();
        assert_eq!(server.event().await, Event::Restarted);
        assert_ne!(server.line().await, first);
        server.send("x").await;
        assert_eq!(server.line().await, "echo x");
        server.sender.stop().await;
    });
}

#[test]
fn a_server_that_is_of_no_use_and_was_never_ready_is_given_up_as_one_that_dies() {
    run(async {
        let mut server = Server::python("import sys; print('ready'); sys.stdin.read()");
        for start in 1..=5 {
            assert_eq!(server.line().await, "ready");
            server.sender.restart();
            let died = server.event().await;
            let Event::Died {
                will_restart_in, ..
            } = died
            else {
                panic!("{died:?}");
            };
            assert_eq!(will_restart_in.is_none(), start == 5);
            if start < 5 {
                assert_eq!(server.event().await, Event::Restarted);
            }
        }
        let given_up = server.event().await;
        assert!(matches!(given_up, Event::GaveUp { .. }), "{given_up:?}");
    });
}

#[test]
fn a_stop_ends_the_waiting_for_a_restart() {
    run(async {
        let mut settings = settings(python("pass"));
        settings.backoff.first = Duration::from_hours(1);
        settings.backoff.max = Duration::from_hours(1);
        let mut server = Server::start(settings);
        assert!(matches!(server.event().await, Event::Died { .. }));
        let sender = server.sender.clone();
        let (event, ()) = tokio::join!(server.next(), sender.stop());
        let Happened::Other(Event::GaveUp {
            reason: GiveUp::Stopped,
        }) = event
        else {
            panic!("not stopped");
        };
    });
}
