/** @module Checks the server's version: the behaviour that the store relies on was measured on 23.10, and the client requires at least 22.6. */
import type { EventStoreDBClient } from '@eventstore/db-client'
import { StoreOpenError } from '../event-store.ts'
import { type Connection, within } from './connection.ts'

const OLDEST: readonly [major: number, minor: number] = [22, 6]
const VERSION = /^(\d+)\.(\d+)/

/** The client has this property, but declares it for subclasses only. */
interface VersionedClient {
  readonly capabilities: Promise<{ readonly serverVersion: string }>
}

/** Throws `StoreOpenError` (`store-unsupported`) that names both versions, and `StoreUnavailableError`. */
export async function refuseOldServer(connection: Connection): Promise<void> {
  const version = await connection.read((client) => within(connection.timings.callMs, versionOf(client)))
  const [, major, minor] = VERSION.exec(version) ?? []
  const [oldestMajor, oldestMinor] = OLDEST
  const isOld = Number(major) < oldestMajor || (Number(major) === oldestMajor && Number(minor) < oldestMinor)
  if (major !== undefined && minor !== undefined && !isOld) return
  const versionText =
    major === undefined ? 'does not say its version, as servers before 21.10' : `is of version ${version}`
  throw new StoreOpenError(
    'store-unsupported',
    `the server ${versionText}: EventStoreDB ${OLDEST.join('.')} or later is needed (23.10 is what this was made for)`,
  )
}

async function versionOf(client: EventStoreDBClient): Promise<string> {
  const { serverVersion } = await (client as unknown as VersionedClient).capabilities
  return serverVersion
}
