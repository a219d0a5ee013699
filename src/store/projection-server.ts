/** @module The port to a store that folds by itself: scripts it keeps, runs over its own streams, and answers for. */
import type { Json } from '../../schemas/json.ts'

export interface ServerProjection {
  readonly name: string
  /** `uncompiled`: its script never compiled on this server, for its own fault or for want of time, and the server cannot tell why. */
  readonly state: 'running' | 'starting' | 'stopped' | 'faulted' | 'uncompiled'
  /** The server's own word for it. */
  readonly status: string
  /** Why it stopped; empty where the server says nothing. */
  readonly reason: string
  /** Percent of what there is; undefined where the server does not know. */
  readonly progressPercent: number | undefined
  /** Since its last start. */
  readonly events: bigint
}

/** All of them throw `ProjectionServerError` and `StoreUnavailableError`. */
export interface ProjectionServer extends AsyncDisposable {
  /** Without credentials. */
  readonly url: string
  /**
   * Those of these names that are there, each requested by itself: a server that is asked for all of them fails where one of them, of
   * whomever, never compiled.
   */
  find(names: readonly string[]): Promise<readonly ServerProjection[]>
  /** Resolves for a broken script as well: its status then says so. */
  create(name: string, script: string): Promise<void>
  /** Another script, on the state that is there. */
  update(name: string, script: string): Promise<void>
  /** Starts one that stopped; nothing where it runs. */
  enable(name: string): Promise<void>
  /** Folds everything again from the beginning. */
  reset(name: string): Promise<void>
  /** State of one partition; an empty object where the server has none. */
  stateOf(name: string, partition: string): Promise<Json>
}

/** The server does not do it; `message` says what to do. */
export class ProjectionServerError extends Error {
  readonly code: 'projections-off' | 'access-denied' | 'projection-refused'

  constructor(code: ProjectionServerError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ProjectionServerError'
    this.code = code
  }
}
