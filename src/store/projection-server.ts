/** @module The port to a store that folds on the server: it stores scripts, runs them over its own streams, and serves the results. */
import type { Json } from '../../schemas/json.ts'

export interface ServerProjection {
  readonly name: string
  /** `uncompiled`: the script never compiled on this server, because of an error in it or a timeout; the server does not report which. */
  readonly state: 'running' | 'starting' | 'stopped' | 'faulted' | 'uncompiled'
  /** The server's own word for the state. */
  readonly status: string
  /** Why the projection stopped; empty if the server gives no reason. */
  readonly reason: string
  /** Percentage of all events that was processed; undefined if the server does not know. */
  readonly progressPercent: number | undefined
  /** Events processed since the last start. */
  readonly events: bigint
}

/** All methods throw `ProjectionServerError` and `StoreUnavailableError`. */
export interface ProjectionServer extends AsyncDisposable {
  /** The URL without credentials. */
  readonly url: string
  /**
   * Returns those of the named projections that exist. Each is requested separately: a request for all projections fails if any projection on the server,
   * including those of others, never compiled.
   */
  find(names: readonly string[]): Promise<readonly ServerProjection[]>
  /** Resolves for a broken script as well: the error then shows in its status. */
  create(name: string, script: string): Promise<void>
  /** Replaces the script and keeps the state. */
  update(name: string, script: string): Promise<void>
  /** Starts a stopped projection; does nothing if it is running. */
  enable(name: string): Promise<void>
  /** Folds everything again from the beginning. */
  reset(name: string): Promise<void>
  /** State of one partition; an empty object if the server has none. */
  stateOf(name: string, partition: string): Promise<Json>
}

/** The server refuses the operation; `message` says what to do. */
export class ProjectionServerError extends Error {
  readonly code: 'projections-off' | 'access-denied' | 'projection-refused'

  constructor(code: ProjectionServerError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ProjectionServerError'
    this.code = code
  }
}
