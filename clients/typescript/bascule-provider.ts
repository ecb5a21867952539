/**
 * An OpenFeature provider for Node that also tracks: OFREP for the arms, and outcomes for what happens.
 *
 *     await OpenFeature.setProviderAndWait(new BasculeProvider({
 *       baseUrl: "http://127.0.0.1:8000", key: process.env.BASCULE_KEY, events: { purchase: ["checkout-button"] } }));
 *     OpenFeature.getClient().track("purchase", { targetingKey: "user-42" }, { value: 19.99, id: "order-1" });
 *
 * It needs @openfeature/server-sdk and @openfeature/ofrep-provider.
 */
import { OFREPProvider } from "@openfeature/ofrep-provider";
import type { EvaluationContext, TrackingEventDetails } from "@openfeature/server-sdk";

export interface BasculeOptions {
  baseUrl: string;
  key?: string;
  /** Which tests an event is an outcome of; an event that is not named is one of the test of its own name. */
  events?: Record<string, string | string[]>;
  /** Milliseconds to wait for an answer (5000 if left out); a flag then has its default value. */
  timeoutMs?: number;
}

interface Outcome {
  unit: string;
  value: unknown;
  id: string;
  [attribute: string]: unknown;
}

interface Receipts {
  /** How many outcomes were rejected, by reason. */
  reasons?: Record<string, number>;
  outcomes: { reason?: string; detail?: string }[];
}

const WAITING = 10_000;
const AT_ONCE = 500;
const PAUSES = [500, 1000, 2000, 4000, 8000];
/** The status of an answer in which no outcome counts. */
const ALL_REJECTED = 422;
const SENT_ALONG = ["id", "at", "exposed", "metric"];

/** A tracked event as the service takes it; its value is the number that is tracked, or 1. */
export function outcomeOf(unit: string, details: TrackingEventDetails = {}): Outcome {
  const value = details.value ?? 1;
  const outcome: Outcome = { unit, value, id: crypto.randomUUID() };
  for (const name of SENT_ALONG) {
    const given = details[name];
    if (given !== undefined) outcome[name] = given instanceof Date ? given.toISOString() : given;
  }
  if (details.per !== undefined) outcome.value = [value, details.per];
  return outcome;
}

/**
 * Fetch with a time limit, which not all versions of the OFREP client have, and so that the reason of a refused key
 * reaches the caller: the OFREP client drops the body of a 401 or 403, and passes on the `errorDetails` of a 400.
 */
function fetchWithin(milliseconds: number): typeof fetch {
  return async (address, request) => {
    const limit = AbortSignal.timeout(milliseconds);
    const signal = request?.signal ? AbortSignal.any([request.signal, limit]) : limit;
    const answer = await fetch(address, { ...request, signal });
    if (answer.status !== 401 && answer.status !== 403) return answer;
    return new Response(answer.body, { status: 400, headers: answer.headers });
  };
}

/**
 * The OFREP provider, with tracking. Outcomes are sent in the background, a few at a time, and again until they
 * arrive: each has an id, so that none counts twice. `onClose`, which `OpenFeature.close()` calls, waits until all
 * are sent.
 */
export class BasculeProvider extends OFREPProvider {
  override readonly metadata = { name: "bascule" };
  readonly #options: BasculeOptions;
  readonly #headers: Record<string, string>;
  readonly #timeout: number;
  #waiting: [string, Outcome][] = [];
  #sending: Promise<void> | undefined;

  constructor(options: BasculeOptions) {
    const headers: Record<string, string> = options.key ? { Authorization: `Bearer ${options.key}` } : {};
    const timeout = options.timeoutMs ?? 5000;
    super({
      baseUrl: options.baseUrl,
      headers: Object.entries(headers),
      fetchImplementation: fetchWithin(timeout),
    });
    this.#options = options;
    this.#headers = headers;
    this.#timeout = timeout;
  }

  /** Send an outcome of the context's unit, soon; this neither waits nor throws. */
  track(event: string, context: EvaluationContext, details?: TrackingEventDetails): void {
    const unit = context.targetingKey;
    if (!unit) {
      console.warn(`bascule: ${event} was not tracked: the context has no targeting key`);
      return;
    }
    const outcome = outcomeOf(unit, details);
    for (const test of [this.#options.events?.[event] ?? event].flat()) {
      if (this.#waiting.length < WAITING) this.#waiting.push([test, outcome]);
      else console.warn(`bascule: ${event} was not tracked: too many outcomes wait`);
    }
    this.#sending ??= this.#sendAll();
  }

  /** Wait until everything is sent. */
  async onClose(): Promise<void> {
    await this.#sending;
  }

  async #sendAll(): Promise<void> {
    // What is tracked in the same turn is sent together.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const some = this.#waiting.splice(0, AT_ONCE);
      for (const test of new Set(some.map(([name]) => name))) {
        await this.#send(test, some.filter(([name]) => name === test).map(([, outcome]) => outcome));
      }
    }
    this.#sending = undefined;
  }

  async #send(test: string, outcomes: Outcome[]): Promise<void> {
    const url = `${this.#options.baseUrl.replace(/\/+$/, "")}/v1/experiments/${encodeURIComponent(test)}/outcomes`;
    let problem = "";
    for (const pause of [...PAUSES, undefined]) {
      try {
        const answer = await fetch(url, {
          method: "POST",
          headers: { ...this.#headers, "Content-Type": "application/json" },
          body: JSON.stringify({ outcomes }),
          signal: AbortSignal.timeout(this.#timeout),
        });
        const text = await answer.text();
        if (answer.ok || answer.status === ALL_REJECTED) {
          this.#warn(test, text);
          return;
        }
        problem = `${answer.status}: ${text.slice(0, 200)}`;
        if (answer.status !== 429 && answer.status < 500) break;
      } catch (failed) {
        problem = String(failed);
      }
      if (pause !== undefined) await new Promise((resolve) => setTimeout(resolve, pause));
    }
    console.warn(`bascule: ${outcomes.length} outcomes of ${test} were not sent: ${problem}`);
  }

  /** Warn of rejected outcomes, once for each reason. */
  #warn(test: string, text: string): void {
    const answer = JSON.parse(text) as Receipts;
    if (!answer.outcomes) console.warn(`bascule: outcomes of ${test} were refused: ${text.slice(0, 200)}`);
    for (const [reason, count] of Object.entries(answer.reasons ?? {})) {
      const detail = answer.outcomes.find((receipt) => receipt.reason === reason)?.detail;
      console.warn(`bascule: ${count} outcomes of ${test} do not count (${reason}): ${detail}`);
    }
  }
}
