/**
 * @module Manages the projections of an EventStoreDB server. For operator commands, not for serving: each call has a deadline and is not retried, and
 * there is no circuit breaker.
 */
import { ErrorType, type EventStoreDBClient, type ProjectionDetails } from '@eventstore/db-client'
import type { Json } from '../../../schemas/json.ts'
import { SYSTEM_STREAM } from '../../../schemas/names.ts'
import { StoreUnavailableError } from '../event-store.ts'
import { type ProjectionServer, ProjectionServerError, type ServerProjection } from '../projection-server.ts'
import { isUnavailable, isUnknown, NoAnswerError, reasonOf, typeOf } from './client-errors.ts'
import { Connection, within } from './connection.ts'
import { readConnectionUrl } from './connection-url.ts'
import { acquireClient } from './shared-client.ts'
import { readHead } from './stream-reads.ts'
import { DEFAULT_TIMINGS } from './timings.ts'

const GRPC_UNIMPLEMENTED = 12
/** A command is answered once the server has recorded it and started the action. */
const COMMAND_MS = 15_000
const RETRY_AFTER_MS = 1_000

/** Does not contact the server yet. Throws `StoreOpenError` for a URL that cannot be used. */
export function openEventStoreDbProjections(url: string): ProjectionServer {
  const { connection, shown } = readConnectionUrl(url)
  const shared = acquireClient(connection)
  const reads = new Connection(shared, DEFAULT_TIMINGS)
  let atLeader: Promise<unknown> | undefined
  const ask = async <T>(work: (client: EventStoreDBClient) => Promise<T>): Promise<T> => {
    try {
      // Projections run only on the leader. A follower refuses this read and names the leader, to which the client's channel then connects.
      atLeader ??= readHead(reads, SYSTEM_STREAM)
      await atLeader
      return await within(COMMAND_MS, work(await shared.whenSafe()))
    } catch (error) {
      atLeader = undefined
      throw refusalOf(error, shown)
    }
  }
  return {
    url: shown,
    find: async (names) => {
      const found = await Promise.all(names.map((name) => ask((client) => find(client, name))))
      return found.flatMap((each) => each ?? [])
    },
    create: (name, script) => ask((client) => client.createProjection(name, script)),
    update: (name, script) => ask((client) => client.updateProjection(name, script)),
    enable: (name) => ask((client) => client.enableProjection(name)),
    reset: (name) => ask((client) => client.resetProjection(name)),
    stateOf: async (name, partition) =>
      (await ask((client) => client.getProjectionState<Json>(name, { partition }))) ?? null,
    [Symbol.asyncDispose]: async () => {
      reads.close()
      await shared.release()
    },
  }
}

/**
 * Undefined if the projection does not exist. The server has no status for a projection that never compiled: it fails on the missing checkpoint of that
 * projection and answers UNKNOWN (read in its source, and observed on a real server).
 */
async function find(client: EventStoreDBClient, name: string): Promise<ServerProjection | undefined> {
  try {
    // The client's types wrongly declare that the result is always present.
    const details = (await client.getProjectionStatus(name)) as ProjectionDetails | undefined
    // A deleted projection may still be reported for a while.
    return details === undefined || details.status.startsWith('Delet') ? undefined : projectionOf(details)
  } catch (error) {
    if (!isUnknown(error) || isUnimplemented(error)) throw error
    const answered = /received (\w+) instead/.exec(reasonOf(error))?.[1]
    if (answered === 'NotFound') return undefined
    if (answered !== undefined) throw error
    return {
      name,
      state: 'uncompiled',
      status: 'Never compiled',
      reason: UNCOMPILED,
      progressPercent: undefined,
      events: 0n,
    }
  }
}

const UNCOMPILED =
  'its script is at fault, or the server had no time for it (EVENTSTORE_PROJECTION_COMPILATION_TIMEOUT, in ms); the server’s log says which, "countersign projections install" tries again'

const STATES: Readonly<Record<string, ServerProjection['state']>> = {
  Running: 'running',
  Faulted: 'faulted',
  Stopped: 'stopped',
  Completed: 'stopped',
  Aborted: 'stopped',
}

/** The status may have more text after its first word: `Stopped/Writing results`, `Faulted (Enabled)`. */
function projectionOf(details: ProjectionDetails): ServerProjection {
  const { name, status, stateReason, progress, eventsProcessedAfterRestart } = details
  return {
    name,
    status,
    state: STATES[/^[A-Za-z]*/.exec(status)?.[0] ?? ''] ?? 'starting',
    reason: stateReason,
    progressPercent: progress >= 0 ? progress : undefined,
    events: eventsProcessedAfterRestart,
  }
}

function isUnimplemented(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === GRPC_UNIMPLEMENTED
}

function refusalOf(error: unknown, shown: string): Error {
  if (error instanceof StoreUnavailableError) {
    return new StoreUnavailableError(`no node answers at ${shown}: ${error.message}`, RETRY_AFTER_MS)
  }
  if (error instanceof NoAnswerError || isUnavailable(error)) {
    return new StoreUnavailableError(`no node answers at ${shown}: ${reasonOf(error)}`, RETRY_AFTER_MS)
  }
  const options = { cause: error }
  const type = typeOf(error)
  if (type === ErrorType.ACCESS_DENIED) {
    const message = `${shown} refuses these credentials: projections need a user of the group $admins or $ops`
    return new ProjectionServerError('access-denied', message, options)
  }
  if (isUnimplemented(error)) {
    const message = `${shown} runs no projections: start it with EVENTSTORE_RUN_PROJECTIONS=All`
    return new ProjectionServerError('projections-off', message, options)
  }
  return new ProjectionServerError('projection-refused', `${shown} refuses: ${reasonOf(error)}`, options)
}
