#!/usr/bin/env python3
"""Disputes over a network that delays, cuts and stalls, between machines that are killed and start again or do not: the
verdict is that of one machine, or a forfeit, as docs/disputes.md says. --slow: more seeds, and what takes its time."""
import json
import os
import signal
import time

from disputing import SLOW, Disputing, main, slow, wait_for
from proxy import Proxy


class Network(Disputing):
    def proxied(self, server, **more):
        proxy = Proxy(server.port, **more)
        self.addCleanup(proxy.close)
        return proxy

    def finish(self, referee, code=1, seconds=120):
        out, err = referee.communicate(timeout=seconds)
        self.assertEqual(referee.returncode, code, out + err)
        return json.loads(out) if out else None


class Honest(Network):
    """What nobody forfeits for."""

    def test_late(self):
        trainer, challenger = (self.proxied(s, delay=0.05) for s in (self.trainer(), self.challenger()))
        self.assert_same(self.settle(trainer.address, challenger.address))
        self.assertGreater(trainer.carried, 10000)

    def test_cut_again_and_again(self):
        for seed in range(8 if SLOW else 1):
            with self.subTest(seed=seed):
                # A connection with its handshake and one answer has some 8 KB; one with a list may have more.
                trainer = self.proxied(self.trainer(state=f"t{seed}"), cut=60000, seed=seed)
                challenger = self.proxied(self.challenger(state=f"c{seed}"), cut=60000, seed=seed + 100)
                self.assert_same(self.finish(self.start_referee(trainer.address, challenger.address)))

    @slow
    def test_stalled_for_a_while(self):
        servers = self.trainer(), self.challenger()
        trainer, challenger = (self.proxied(s, delay=0.1) for s in servers)
        referee = self.start_referee(trainer.address, challenger.address)
        wait_for(lambda: len(servers[0].events("answered")) >= 2)
        trainer.stalled = True
        time.sleep(3)
        trainer.stalled = False
        self.assert_same(self.finish(referee))

    def kill_and_restart(self, party, after):
        servers = {"trainer": self.trainer(), "challenger": self.challenger()}
        proxies = {name: self.proxied(server, delay=0.1) for name, server in servers.items()}
        referee = self.start_referee(proxies["trainer"].address, proxies["challenger"].address)
        wait_for(lambda: len(servers[party].events("answered")) >= after)
        servers[party].kill()
        again = getattr(self, party)()
        proxies[party].port = again.port
        self.assert_same(self.finish(referee))
        self.assertEqual(len(again.events("opened again")), 1)
        turns = [e["turn"] for server in (servers[party], again) for e in server.events("answered")]
        self.assertEqual(turns, sorted(set(turns)), "no turn was answered twice")
        self.assertEqual(again.stop(), 0)

    def test_a_party_whose_port_was_closed_for_a_while_goes_on(self):
        """Nothing in between takes connections while it is down: they are refused, and it is called again."""
        for party in ("trainer", "challenger"):
            with self.subTest(party=party):
                servers = {name: getattr(self, name)(state=name[0] + party) for name in ("trainer", "challenger")}
                other = next(name for name in servers if name != party)
                proxy = self.proxied(servers[other], delay=0.05)
                addresses = {party: servers[party].address, other: proxy.address}
                referee = self.start_referee(addresses["trainer"], addresses["challenger"])
                wait_for(lambda: len(servers[party].events("answered")) >= 2)
                servers[party].kill()
                time.sleep(1)
                getattr(self, party)(state=party[0] + party, listen=servers[party].address)
                self.assert_same(self.finish(referee))

    def test_a_trainer_that_was_killed_goes_on(self):
        self.kill_and_restart("trainer", 2)

    @slow
    def test_a_challenger_that_was_killed_goes_on(self):
        self.kill_and_restart("challenger", 3)

    @slow
    def test_a_referee_that_was_stopped_or_killed_goes_on(self):
        servers = self.trainer(), self.challenger()
        proxies = [self.proxied(s, delay=0.15) for s in servers]
        words = [proxies[0].address, proxies[1].address, "--state", self.fresh("kept")]
        for how, code in ((signal.SIGTERM, 130), (signal.SIGKILL, -9)):
            before = len(servers[0].events("answered"))
            referee = self.start_referee(*words)
            wait_for(lambda: len(servers[0].events("answered")) >= before + 2)
            referee.send_signal(how)
            self.finish(referee, code)
        self.assert_same(self.finish(self.start_referee(*words)))
        # And once more what is settled, whoever is there.
        for server in servers:
            server.kill()
        key = os.path.join(self.dir, "doubt.pub")
        self.assert_same(self.settle(*words, "--challenger", key, "--engagement", "engagement"))

    @slow
    def test_a_service_ends_when_it_is_asked_to_and_goes_on(self):
        trainer, challenger = self.trainer(), self.challenger()
        proxy = self.proxied(trainer, delay=0.1)
        referee = self.start_referee(proxy.address, challenger.address)
        for how in (signal.SIGTERM, signal.SIGINT):
            before = len(trainer.events("answered"))
            wait_for(lambda: len(trainer.events("answered")) >= before + 1)
            self.assertEqual(trainer.stop(how), 0)
            self.assertTrue(trainer.events("stopped")[0]["finished"])
            trainer = self.trainer()
            proxy.port = trainer.port
        self.assert_same(self.finish(referee))

    def test_several_games_at_once(self):
        keys = []
        for number in range(3):
            self.run_isobit("keygen", "--out", os.path.join(self.own, f"k{number}"), home="challenger")
            keys.append(os.path.join(self.own, f"k{number}"))
        trainer, challenger = self.trainer(), self.challenger(keys=[key + ".key" for key in keys])
        done = self.run_isobit(*self.referee_words(trainer.address, challenger.address), home="referee", code=2)
        self.assertIn("--challenger", done.stderr)
        referees = [self.start_referee(trainer.address, challenger.address, "--challenger", key + ".pub") for key in keys]
        for referee in referees:
            self.assert_same(self.finish(referee))
        self.assertEqual(len(wait_for(lambda: trainer.events("ended"))), 3)

    def test_two_services_do_not_share_a_folder(self):
        self.trainer()
        with self.assertRaisesRegex(AssertionError, "another process keeps its games there"):
            self.trainer()

    def test_what_a_party_is_not(self):
        trainer, challenger = self.trainer(), self.challenger()
        done = self.run_isobit(*self.referee_words(challenger.address, trainer.address), home="referee", code=2)
        self.assertIn("serves the challenger's side", done.stderr)
        self.run_isobit("keygen", "--role", "referee", home="stranger")
        done = self.run_isobit(*self.referee_words(trainer.address, challenger.address), home="stranger", code=2)
        self.assertIn("the engagement names", done.stderr)
        for words in (["--as", "nobody"], ["--doubts", "doubted"], ["--challenger-key", "doubt.key"]):
            with self.assertRaisesRegex(AssertionError, "ended: isobit: --"):
                self.trainer(*words, state="other")
        with self.assertRaisesRegex(AssertionError, "--challenger-key: is missing"):
            self.challenger(keys=(), state="other")


class Forfeits(Network):
    """Of who does not answer in time."""
    response, restart = "3s", "3s"

    def forfeit(self, referee, of, record):
        told = self.finish(referee, 1 if of == "trainer" else 0)
        self.assertEqual(told["verdict"], f"forfeit ({of})")
        shown = json.loads(self.run_isobit("--json", "verify", record, "--job", "job.toml", home="stranger",
                                           code=1 if of == "trainer" else 0).stdout)
        self.assertEqual((shown["verdict"], shown["genuine"]), (told["verdict"], True))

    def silenced(self, silence):
        """Each party is silenced in turn, in the middle of a game, and forfeits."""
        for party in ("trainer", "challenger"):
            with self.subTest(party=party):
                servers = {"trainer": self.trainer(state=f"t{party}"), "challenger": self.challenger(state=f"c{party}")}
                proxies = {name: self.proxied(server, delay=0.05) for name, server in servers.items()}
                record = self.fresh("dispute")
                referee = self.start_referee(proxies["trainer"].address, proxies["challenger"].address, "--out", record)
                wait_for(lambda: len(servers[party].events("answered")) >= 2)
                silence(servers[party], proxies[party])
                self.forfeit(referee, party, record)

    @slow
    def test_killed_for_good(self):
        self.silenced(lambda server, proxy: server.kill())

    @slow
    def test_stalls(self):
        self.silenced(lambda server, proxy: setattr(proxy, "stalled", True))

    @slow
    def test_stopped_processes(self):
        trainer, challenger = self.trainer(), self.challenger()
        proxy, record = self.proxied(trainer, delay=0.05), self.fresh("dispute")
        referee = self.start_referee(proxy.address, challenger.address, "--out", record)
        wait_for(lambda: len(trainer.events("answered")) >= 2)
        trainer.process.send_signal(signal.SIGSTOP)
        try:
            self.forfeit(referee, "trainer", record)
        finally:
            trainer.process.send_signal(signal.SIGCONT)

    def test_nobody_was_ever_there(self):
        challenger, record = self.challenger(), self.fresh("dispute")
        nobody = Proxy(1)
        self.addCleanup(nobody.close)
        nobody.refuses = True
        referee = self.start_referee(nobody.address, challenger.address, "--out", record, "--engagement", "engagement")
        self.forfeit(referee, "trainer", record)

    @slow
    def test_answers_that_were_lost_are_not_given_again(self):
        trainer, challenger = self.trainer(), self.challenger()
        proxy, record = self.proxied(trainer, delay=0.05), self.fresh("dispute")
        referee = self.start_referee(proxy.address, challenger.address, "--out", record)
        wait_for(lambda: len(trainer.events("answered")) >= 2)
        trainer.kill()
        again = self.trainer(state="empty.games")
        proxy.port = again.port
        self.forfeit(referee, "trainer", record)
        self.assertTrue(again.events("ignored"))
        self.assertEqual(again.events("answered"), [])


if __name__ == "__main__":
    main()
