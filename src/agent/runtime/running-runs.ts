/** @module The runs that are active in this runtime: a second start of one of them gets the result of the first (RUN-161). */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { JsonObject } from '../../../schemas/json.ts'
import { onAbort } from '../../resources/linked-signal.ts'
import { jsonDigest } from '../../signing/digests.ts'
import type { Codecs } from '../calls/codecs.ts'
import { AgentError } from '../errors.ts'
import { type RunOptions, startRequest } from './run-options.ts'

/** The run whose code makes a start. One for all runtimes: on Node 22 each storage costs every promise of the process, for good. */
const inside = new AsyncLocalStorage<Running>()

interface Running {
  /** Digest of the start request. */
  readonly digest: string
  readonly end: Promise<unknown>
  /** Runs that its code has started or joined. */
  readonly waitsFor: Set<Running>
}

export interface Asked {
  /** `run`, `saga`, or the place at which a branch starts from a run. Starts of different kinds are never joined. */
  readonly kind: string
  readonly options: RunOptions
  /** Name to use if the options have none. */
  readonly name: string
}

export class RunningRuns {
  readonly #codecs: Codecs
  readonly #running = new Map<string, Running>()

  constructor(codecs: Codecs) {
    this.#codecs = codecs
  }

  /** Starts a run, or joins it if it is running here. Throws `run-owned`, `recursive-call`, and the errors of the start and of the run. */
  async start<T>(asked: Asked, start: () => Promise<T>): Promise<T> {
    const { options, kind, name } = asked
    const { id, whenOwned = 'join', signal } = options
    if (id === undefined) return start()
    const running = this.#running.get(id)
    const content = startRequest({ ...options, whenOwned: 'join' }, name, this.#codecs)
    const digest = jsonDigest({ kind, ...content } as JsonObject)
    // A different run with the same id is refused by the ledger, without affecting the active one.
    if (running !== undefined && running.digest !== digest) return start()
    if (running === undefined || whenOwned === 'wait' || whenOwned === 'take-over')
      return this.#begun(id, digest, start)
    if (whenOwned === 'refuse')
      throw new AgentError('run-owned', `the run ${id} goes on in this process: await it, or start it with "join"`, {
        id,
      })
    this.#waitFor(id, running)
    return unlessAborted(running.end as Promise<T>, signal)
  }

  #begun<T>(id: string, digest: string, start: () => Promise<T>): Promise<T> {
    const { promise: end, resolve, reject } = Promise.withResolvers<T>()
    const running: Running = { digest, end, waitsFor: new Set() }
    this.#waitFor(id, running)
    this.#running.set(id, running)
    inside.run(running, start).then(resolve, reject)
    return end.finally(() => {
      if (this.#running.get(id) === running) this.#running.delete(id)
    })
  }

  /** Throws if the calling code would wait for itself. */
  #waitFor(id: string, running: Running): void {
    const asking = inside.getStore()
    if (asking === undefined) return
    if (reaches(running, asking)) {
      const message = `the run ${id} waits for the code that starts it again, and neither would end: use what it has, or start a run of another id`
      throw new AgentError('recursive-call', message, { id })
    }
    asking.waitsFor.add(running)
    running.end.catch(() => undefined).finally(() => asking.waitsFor.delete(running))
  }
}

function reaches(from: Running, to: Running): boolean {
  const seen = new Set([from])
  for (const each of seen) for (const next of each.waitsFor) seen.add(next)
  return seen.has(to)
}

/** The signal ends only the wait of its caller, since the run belongs to the first start. */
function unlessAborted<T>(end: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return end
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason)
    const leave = signal.aborted ? undefined : onAbort(signal, reject)
    end.then(resolve, reject).finally(() => leave?.())
  })
}
