#!/usr/bin/env python3
"""tests/ops/manifests.py: do deploy/cluster and deploy/kubernetes fit the programs and each other?

    tests/ops/manifests.py BIN

Nothing is deployed. Every call of aegis in them is one that the program takes; what they name (ports,
secrets, files, labels) is there; whoever is asked to end is given longer than its -drain-timeout.
May touch: files under deploy/, the program. Needs python3-yaml.
On trouble: `not ok - ...` for each thing that does not fit, and exit status 1.
"""
import os
import re
import subprocess
import sys

import yaml

HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMPOSE, KUBERNETES = os.path.join(HERE, "deploy/cluster"), os.path.join(HERE, "deploy/kubernetes")
bad = 0


def check(what, wrong):
    """`wrong` is a list of what does not fit."""
    global bad
    print(f"{'not ok' if wrong else 'ok'} - {what}", flush=True)
    for line in wrong:
        print(f"    {line}")
    bad += bool(wrong)


def seconds(text):
    value, unit = re.fullmatch(r"(\d+)(ms|s|m)?", str(text)).groups()
    return int(value) * {"ms": 0.001, "s": 1, "m": 60, None: 1}[unit]


class Call:
    """A call of aegis: its flags, those of its config file too."""

    def __init__(self, args, folder):
        self.args = [re.sub(r"\$\(POD_NAME\)", "world-0", re.sub(r"\$\(POD_IP\)", "10.0.0.1", a))
                     for a in args]
        self.args = [a.replace("/etc/aegis/", folder + "/") if a.startswith("-config") else a
                     for a in self.args]
        self.flags = dict(a.lstrip("-").split("=", 1) for a in self.args)
        if "config" in self.flags:
            with open(self.flags["config"], encoding="utf-8") as conf:
                for line in conf:
                    found = re.match(r"([a-z-]+) = (\S+)", line)
                    if found:
                        self.flags.setdefault(found.group(1), found.group(2))

    def refused(self, aegis):
        """The flags are read before -version is answered."""
        done = subprocess.run([aegis, *self.args, "-version"], capture_output=True, text=True,
                              check=False)
        return [] if done.returncode == 0 else [done.stderr.strip() or str(done.returncode)]

    def drain(self, aegis):
        if "drain-timeout" in self.flags:
            return seconds(self.flags["drain-timeout"])
        text = subprocess.run([aegis, "-role=" + self.flags["role"], "-help=config"],
                              capture_output=True, text=True, check=True).stdout
        return seconds(re.search(r"^#?drain-timeout = (\S+)", text, re.M).group(1))


# --- compose ---------------------------------------------------------------------------------------


def check_compose(aegis):
    with open(os.path.join(COMPOSE, "compose.yml"), encoding="utf-8") as file:
        compose = yaml.safe_load(file)
    services = compose["services"]
    calls = {name: Call(s["command"], COMPOSE) for name, s in services.items()
             if s["image"] == "aegis"}
    for name, call in calls.items():
        check(f"compose: {name} is called as the program wants it", call.refused(aegis))
    check("compose: each is given longer than its -drain-timeout", [
        name for name, call in calls.items()
        if seconds(services[name]["stop_grace_period"]) <= call.drain(aegis)])
    check("compose: each world has an id of its own, and gateways find it under its service's name", [
        name for name, call in calls.items() if call.flags["role"] == "world" and not
        call.flags["world-id"] == name == call.flags["advertise"].split(":")[0]])
    check("compose: who depends on whom, which networks, secrets and volumes, all are there", [
        f"{name}: {what}" for name, s in services.items()
        for key, there in (("depends_on", services), ("networks", compose["networks"]),
                           ("secrets", compose["secrets"]))
        for what in s.get(key, ()) if what not in there])
    check("compose: files that it mounts are there", [
        v for s in services.values() for v in s.get("volumes", ()) if v.startswith("./") and not
        os.path.exists(os.path.join(COMPOSE, v.split(":")[0]))])
    check("compose: all mean the same NATS, and its servers are services", [
        f"{name}: {call.flags['cluster']}" for name, call in calls.items()
        if {server.split(":")[0] for server in call.flags["cluster"].replace("nats://", "").split(",")}
        != {s for s in services if s.startswith("nats-")}])
    with open(os.path.join(COMPOSE, "haproxy.cfg"), encoding="utf-8") as file:
        behind = re.findall(r"^    server \S+ (\S+):19001", file.read(), re.M)
    check("compose: behind the balancer are all gateways", sorted(
        set(behind) ^ {n for n, c in calls.items() if c.flags["role"] == "gateway"}))
    subnet = compose["networks"]["clients"]["ipam"]["config"][0]["subnet"]
    check("compose: gateways take a PROXY header from the balancer's network", [
        name for name, call in calls.items() if call.flags.get("proxy-protocol", subnet) != subnet])


# --- Kubernetes ------------------------------------------------------------------------------------


def documents():
    with open(os.path.join(KUBERNETES, "kustomization.yaml"), encoding="utf-8") as file:
        kustomization = yaml.safe_load(file)
    found = []
    for name in kustomization["resources"]:
        with open(os.path.join(KUBERNETES, name), encoding="utf-8") as file:
            found += [d for d in yaml.safe_load_all(file) if d]
    return kustomization, found


def pods_of(docs):
    """app -> (kind, spec of its pod, labels)."""
    return {d["metadata"]["name"]: (d["spec"], d["spec"]["template"]["spec"],
                                    d["spec"]["template"]["metadata"]["labels"])
            for d in docs if d["kind"] in ("StatefulSet", "Deployment")}


def ports_of(pod):
    return {p["name"] for c in pod["containers"] for p in c["ports"]}


def wrong_in_pod(name, spec, pod, labels, kustomization, docs):
    wrong = []
    if spec["selector"]["matchLabels"] != labels:
        wrong.append("its selector is not its label")
    services = {d["metadata"]["name"]: d for d in docs if d["kind"] == "Service"}
    if spec.get("serviceName", name) not in services:
        wrong.append("no service")
    made = {g["name"] for key in ("configMapGenerator", "secretGenerator") for g in kustomization[key]}
    volumes = {v["name"] for v in pod.get("volumes", ())} | {
        v["metadata"]["name"] for v in spec.get("volumeClaimTemplates", ())}
    for v in pod.get("volumes", ()):
        wants = v.get("configMap", {}).get("name") or v.get("secret", {}).get("secretName")
        if wants and wants not in made:
            wrong.append(f"no {wants}")
    for c in pod["containers"]:
        wrong += [f"no volume {m['name']}" for m in c["volumeMounts"] if m["name"] not in volumes]
        for probe in ("readinessProbe", "livenessProbe"):
            port = c.get(probe, {}).get("httpGet", {}).get("port")
            if probe not in c or port and port not in ports_of(pod):
                wrong.append(f"{probe}: {port}")
        for e in c.get("env", ()):
            key = e.get("valueFrom", {}).get("secretKeyRef")
            if key and key["name"] not in made:
                wrong.append(f"no {key['name']}")
    if not pod["securityContext"]["runAsNonRoot"]:
        wrong.append("may be root")
    return wrong


def check_kubernetes(aegis):
    kustomization, docs = documents()
    pods = pods_of(docs)
    check("kubernetes: NATS, PostgreSQL, worlds and gateways are there",
          sorted({"nats", "postgres", "world", "gateway"} ^ set(pods)))
    for name, (spec, pod, labels) in pods.items():
        check(f"kubernetes: what {name} names is there",
              wrong_in_pod(name, spec, pod, labels, kustomization, docs))
    for name in ("world", "gateway"):
        spec, pod, _ = pods[name]
        container = pod["containers"][0]
        call = Call(container["args"], KUBERNETES)
        check(f"kubernetes: {name} is called as the program wants it", call.refused(aegis))
        waits = int(container["lifecycle"]["preStop"]["exec"]["command"][-1])
        drain = call.drain(aegis)
        # A world drains while preStop waits for it; a gateway after preStop.
        least = max(waits, drain) if name == "world" else waits + drain
        check(f"kubernetes: {name} is given longer to end than its drain may take",
              [] if pod["terminationGracePeriodSeconds"] > least and (name != "world" or waits > drain)
              else [f"{pod['terminationGracePeriodSeconds']} s of {waits} and {drain}"])
        check(f"kubernetes: one {name} less at a time, by a budget", [] if any(
            d["kind"] == "PodDisruptionBudget" and d["spec"]["selector"]["matchLabels"] ==
            {"app": name} and d["spec"]["maxUnavailable"] == 1 for d in docs) else ["none"])
    servers = re.findall(r"nats://([^,:]+)", Call(pods["world"][1]["containers"][0]["args"],
                                                 KUBERNETES).flags["cluster"])
    check("kubernetes: worlds and gateways know each server of NATS",
          sorted(set(servers) ^ {f"nats-{i}.nats" for i in range(pods["nats"][0]["replicas"])}))
    check("kubernetes: services and policies name ports that their pods have", [
        f"{d['kind']} {d['metadata']['name']}: {port}"
        for d in docs for app, port in named_ports(d) if port not in ports_of(pods[app][1])])
    check("kubernetes: nobody may speak to a pod that no policy names", [] if any(
        d["kind"] == "NetworkPolicy" and d["spec"]["podSelector"] == {} and "ingress" not in d["spec"]
        for d in docs) else ["no policy for all"])


def named_ports(d):
    spec = d["spec"] if "spec" in d else {}
    if d["kind"] == "Service":
        return [(spec["selector"]["app"], p["name"]) for p in spec["ports"]]
    if d["kind"] == "NetworkPolicy" and spec["podSelector"]:
        return [(spec["podSelector"]["matchLabels"]["app"], p["port"])
                for rule in spec["ingress"] for p in rule["ports"]]
    return []


def main():
    aegis = os.path.join(os.path.abspath(sys.argv[1]), "aegis")
    check_compose(aegis)
    check_kubernetes(aegis)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
