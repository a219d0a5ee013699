/**
 * @module Posts checkpoints to witnesses after they are signed; nothing waits for a witness. Cosignatures are served with the checkpoint as they
 * arrive, and are requested again after a restart, which forgets them.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { cacheWithin, type SizedCache, textBytes } from '../../resources/sized-cache.ts'
import { askWitness, type Cosigning, type Witness } from './ask-witness.ts'
import type { LogDeps } from './log-deps.ts'

const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 5 * 60_000
/** Fraction of the memory share of the logs, for all witnesses together. A cosignature evicted from the cache is requested again. */
const PART = 0.2
/** Maximum number of logs waiting to be posted; others follow in the next pass. */
const WAITING_MAX = 10_000

/** The part of the logs that witnesses need. */
export interface PostedLogs {
  /** The signed note of the last checkpoint. */
  readonly note: (tenant: string) => { readonly text: string; readonly size: number } | undefined
  /** Proof that the tree of size `to` continues the tree of size `from`; undefined if there is none. */
  readonly proof: (tenant: string, from: number, to: number) => readonly Uint8Array[] | undefined
  /** Signed notes that lead from each key that signed the logs to its successor, oldest first. */
  readonly successions: () => readonly string[]
}

/** State of one witness for one log. */
interface Post {
  /** The checkpoint that the witness cosigned or refused last. */
  note: string
  /** Signature lines; absent if the witness refused. */
  lines?: string
  /** Size that the witness cosigned last. */
  knownSize: number
}

export interface WitnessFailures {
  readonly witness: string
  /** `unreachable`, or the code of the refusal. */
  readonly code: string
  readonly count: number
}

export class WitnessPosts implements Disposable {
  readonly #couriers: readonly Courier[]
  readonly #logs: PostedLogs
  readonly #stop = new AbortController()

  constructor(witnesses: readonly Witness[], logs: PostedLogs, { log, memory }: Pick<LogDeps, 'log' | 'memory'>) {
    this.#logs = logs
    const { signal } = this.#stop
    this.#couriers = witnesses.map((witness) => {
      const posts = cacheWithin<Post>(memory, 'logs', PART / witnesses.length)
      return new Courier({ witness, logs, log, signal, posts })
    })
  }

  /** The last checkpoint with every cosignature received so far; posts it to witnesses whose cosignature is missing. */
  cosigned(tenant: string): string | undefined {
    const note = this.#logs.note(tenant)?.text
    if (note === undefined) return undefined
    return note + this.#couriers.map((courier) => courier.linesFor(tenant, note)).join('')
  }

  /** Posts the last checkpoint to every witness that has not judged it yet. */
  post(tenant: string): void {
    this.cosigned(tenant)
  }

  /** Size that each witness cosigned last, by its name. */
  sizes(tenant: string): readonly { readonly name: string; readonly size: number }[] {
    return this.#couriers.map((courier) => courier.size(tenant))
  }

  /** How often each witness did not cosign, by reason, since this process started. */
  failures(): readonly WitnessFailures[] {
    return this.#couriers.flatMap((courier) => courier.failures())
  }

  [Symbol.dispose](): void {
    this.#stop.abort()
  }
}

interface CourierOptions {
  readonly witness: Witness
  readonly logs: PostedLogs
  readonly log: LogDeps['log']
  readonly signal: AbortSignal
  readonly posts: SizedCache<Post>
}

/** Posts to one witness, one log at a time. */
class Courier {
  readonly #options: CourierOptions
  readonly #posts: SizedCache<Post>
  readonly #waiting = new Set<string>()
  readonly #failures = new Map<string, number>()
  #going = false

  constructor(options: CourierOptions) {
    this.#options = options
    this.#posts = options.posts
  }

  linesFor(tenant: string, note: string): string {
    const post = this.#posts.get(tenant)
    if (post?.note === note) return post.lines ?? ''
    if (this.#waiting.size < WAITING_MAX) this.#waiting.add(tenant)
    if (!this.#going) void this.#go()
    return ''
  }

  size(tenant: string): { readonly name: string; readonly size: number } {
    return { name: this.#options.witness.verifier.name, size: this.#posts.get(tenant)?.knownSize ?? 0 }
  }

  failures(): readonly WitnessFailures[] {
    const witness = this.#options.witness.verifier.name
    return [...this.#failures].map(([code, count]) => ({ witness, code, count }))
  }

  async #go(): Promise<void> {
    const { signal } = this.#options
    this.#going = true
    let retryMs = FIRST_RETRY_MS
    for (const tenant of this.#waiting) {
      if (signal.aborted) break
      const answer = await this.#ask(tenant).catch((error: unknown) => this.#unread(tenant, error))
      // Moved to the end of the queue, so that the other logs go first.
      this.#waiting.delete(tenant)
      if (answer?.ok !== false || answer.code !== 'unreachable') {
        retryMs = FIRST_RETRY_MS
        continue
      }
      this.#waiting.add(tenant)
      await sleep(retryMs, undefined, { signal, ref: false }).catch(() => undefined)
      retryMs = Math.min(2 * retryMs, LAST_RETRY_MS)
    }
    this.#going = false
  }

  /** Undefined if there is nothing to request. */
  async #ask(tenant: string): Promise<Cosigning | undefined> {
    const { witness, logs, log } = this.#options
    const note = logs.note(tenant)
    const known = this.#posts.get(tenant)
    if (note === undefined || known?.note === note.text) return undefined
    const knownSize = known?.knownSize ?? 0
    const proofFrom = (from: number) => logs.proof(tenant, from, note.size)
    const answer = await askWitness(witness, { note: note.text, knownSize, proofFrom, successions: logs.successions() })
    if (answer.ok) {
      this.#keep(tenant, { note: note.text, lines: answer.lines, knownSize: note.size })
      return answer
    }
    this.#failures.set(answer.code, (this.#failures.get(answer.code) ?? 0) + 1)
    log.warn({ tenant, witness: witness.verifier.name, code: answer.code }, answer.message)
    if (answer.code !== 'unreachable') this.#keep(tenant, { note: note.text, knownSize })
    return answer
  }

  /** The file of the logs cannot be read at the moment: the request is retried later, as for an unreachable witness. */
  #unread(tenant: string, err: unknown): Cosigning {
    const message = 'the checkpoint cannot be read for its witness: tried again later'
    this.#options.log.warn({ tenant, witness: this.#options.witness.verifier.name, err }, message)
    return { ok: false, code: 'unreachable', message }
  }

  #keep(tenant: string, post: Post): void {
    this.#posts.set(tenant, post, textBytes(post.note) + textBytes(post.lines ?? ''))
  }
}
