/** @module Runs that go on in this runtime: who starts one of them a second time gets what the first one gets (RUN-161). */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { JsonObject } from '../../../schemas/json.ts'
import { onAbort } from '../../resources/linked-signal.ts'
import { jsonDigest } from '../../signing/digests.ts'
import type { Codecs } from '../calls/codecs.ts'
import { AgentError } from '../errors.ts'
import { type RunOptions, startRequest } from './run-options.ts'

interface Running {
  /** Of what it was started with. */
  readonly digest: string
  readonly end: Promise<unknown>
  /** Runs that its code has started or joined. */
  readonly waitsFor: Set<Running>
}

export interface Asked {
  /** `run`, `saga`, or the place at which a branch leaves a run: one is not the other. */
  readonly kind: string
  readonly options: RunOptions
  /** Where the options name none. */
  readonly name: string
}

export class RunningRuns {
  readonly #codecs: Codecs
  readonly #running = new Map<string, Running>()
  /** The run whose code asks, that of a run within it included. */
  readonly #inside = new AsyncLocalStorage<Running>()

  constructor(codecs: Codecs) {
    this.#codecs = codecs
  }

  /** Throws `run-owned`, `recursive-call`, and what the start and the run throw. */
  async start<T>(asked: Asked, start: () => Promise<T>): Promise<T> {
    const { options, kind, name } = asked
    const { id, whenOwned = 'join', signal } = options
    if (id === undefined) return start()
    const running = this.#running.get(id)
    const content = startRequest({ ...options, whenOwned: 'join' }, name, this.#codecs)
    const digest = jsonDigest({ kind, ...content } as JsonObject)
    // Another run under that id is refused by the ledger, which leaves the running one alone.
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
    this.#inside.run(running, start).then(resolve, reject)
    return end.finally(() => {
      if (this.#running.get(id) === running) this.#running.delete(id)
    })
  }

  /** Throws where the code that asks would wait for itself. */
  #waitFor(id: string, running: Running): void {
    const asking = this.#inside.getStore()
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

/** The signal ends the waiting of its caller alone: the run is somebody else's. */
function unlessAborted<T>(end: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return end
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason)
    const leave = signal.aborted ? undefined : onAbort(signal, reject)
    end.then(resolve, reject).finally(() => leave?.())
  })
}
