// A client of the decision service, for Node.js, Deno and browsers: one file without dependencies.
//
//   import { Client } from "./stumpery.js";
//   const client = new Client("http://127.0.0.1:8321", { policy: "front-page" });
//   const decision = await client.decide({ hour: 21, device: "phone" });
//   await client.reward(decision, 1);
//
// A decision is sent with an id, and a reward with one of its own, so that sending it again changes nothing.

const AGAIN = [429, 502, 503, 504];

export class ServiceError extends Error {
  constructor(sentence, status) {
    super(sentence);
    this.name = "ServiceError";
    this.status = status; // undefined where no answer came
  }
}

export class Client {
  constructor(address = "http://127.0.0.1:8321", { policy = "default", key, timeout = 2000, retries = 3 } = {}) {
    Object.assign(this, { address: address.replace(/\/$/, ""), policy, key, timeout, retries });
  }

  decide(context = null, { available, k = 10, eventId = newId(), deferred = false } = {}) {
    return this.#send("POST", "decide", { context, available, k, event_id: eventId, deferred });
  }

  reward(decision, value, rewardId = newId()) {
    return this.#send("POST", "reward", { event_id: idOf(decision), value, reward_id: rewardId });
  }

  activate(decision, shown = true) {
    return this.#send("POST", "activate", { event_id: idOf(decision), shown });
  }

  explain(decision) {
    return this.#send("GET", `explain/${encodeURIComponent(idOf(decision))}`);
  }

  async #send(method, operation, body) {
    const url = `${this.address}/v1/policies/${encodeURIComponent(this.policy)}/${operation}`;
    const headers = { "Content-Type": "application/json", ...(this.key && { Authorization: `Bearer ${this.key}` }) };
    for (let attempt = 0; ; attempt++) {
      let answer;
      try {
        const signal = AbortSignal.timeout(this.timeout); // of the whole answer
        answer = await fetch(url, { method, headers, signal, body: body && JSON.stringify(body) });
        if (attempt === this.retries || !AGAIN.includes(answer.status)) return read(answer, await answer.text());
      } catch (error) {
        if (error instanceof ServiceError) throw error;
        if (attempt === this.retries) throw new ServiceError(`the service at ${this.address} did not answer: ${error.message}`);
      }
      await answer?.body?.cancel().catch(() => {});
      const asked = 1000 * Number(answer?.headers.get("Retry-After") ?? 0);
      const pause = Math.min(5000, Math.max(asked, 100 * 2 ** attempt * (0.5 + Math.random())));
      await new Promise((resume) => setTimeout(resume, pause));
    }
  }
}

function read(answer, text) {
  let content;
  try {
    content = JSON.parse(text);
  } catch {
    throw new ServiceError(`the answer with status ${answer.status} is not JSON`, answer.status);
  }
  if (!answer.ok) throw new ServiceError(content?.error ?? `the service answered with status ${answer.status}`, answer.status);
  return content;
}

function idOf(decision) {
  const event = typeof decision === "string" ? decision : decision?.event_id;
  if (!event) throw new ServiceError("a fallback was not recorded, so it takes no reward and has no explanation");
  return event;
}

function newId() {
  return crypto.randomUUID().replaceAll("-", "");
}
