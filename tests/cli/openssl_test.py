#!/usr/bin/env python3
"""What the machine's configuration of OpenSSL says has no say in what a signature is: no key that is refused, no crash, and
above all no rejection of an honest run."""
import os
import shutil

from isobit_cli import Case, contents, main

HEAD = "openssl_conf = all\n[all]\n"
PROVIDERS = HEAD + "providers = some\n[some]\n"
CONFIGURATIONS = {
    # What a machine for FIPS has: nothing is found that is not of that provider.
    "fips": HEAD + "alg_section = algorithms\n[algorithms]\ndefault_properties = fips=yes\n",
    # A list of providers without the default one.
    "others": PROVIDERS + "base = on\n[on]\nactivate = 1\n",
    "none": PROVIDERS + "null = on\n[on]\nactivate = 1\n",
    "no configuration": "[[[ = \n",
}


class Configured(Case):
    def test_an_honest_run_is_accepted_everywhere(self):
        self.train("run")
        # The last byte is one of the trainer's signature.
        signed = contents(self.path("run"))["engagement"]
        shutil.copytree(self.path("run"), self.path("altered"))
        self.write("altered/engagement", signed[:-1] + bytes([signed[-1] ^ 1]))
        for name, text in CONFIGURATIONS.items():
            with self.subTest(name):
                env = {"OPENSSL_CONF": self.write(f"{name}.cnf", text)}
                self.isobit("keygen", "--out", f"{name} key", env=env)
                self.assertEqual(self.isobit_json("verify", "run", env=env)["verdict"], "accepted")
                document = f"{name} verdict"
                audited = self.isobit_json("audit", "run", "--verdict", document, "--sign", f"{name} key.key", env=env)
                self.assertEqual(audited["verdict"], "accepted")
                self.assertTrue(self.isobit_json("verify", document, "--auditor-key", f"{name} key.pub")["genuine"])
                self.assertTrue(self.isobit_json("verify", document, "--auditor-key", f"{name} key.pub", env=env)["genuine"])
                self.assertEqual(self.isobit_json("verify", "altered", code=1, env=env)["verdict"], "rejected")
                self.train(f"{name} run", env=env)
                self.assertEqual(self.isobit_json("verify", f"{name} run")["verdict"], "accepted")

    def test_the_configuration_is_not_even_read(self):
        """Who opens a pipe that nobody writes to waits for ever. What is read may name engines, which are code."""
        self.train("run")
        os.mkfifo(self.path("pipe.cnf"))
        env = {"OPENSSL_CONF": self.path("pipe.cnf")}
        self.isobit("keygen", "--out", "key", env=env, timeout=60)
        self.assertEqual(self.isobit_json("verify", "run", env=env, timeout=60)["verdict"], "accepted")
        self.assertEqual(self.isobit_json("audit", "run", env=env, timeout=600)["verdict"], "accepted")
        self.train("another", env=env, timeout=600)


if __name__ == "__main__":
    main()
