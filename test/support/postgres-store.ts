/** @module Stores on the tests' PostgreSQL: each is a schema of its own. */
import type { EventStore } from '../../src/store/event-store.ts'
import { readConnectionUrl } from '../../src/store/postgres/connection-url.ts'
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts'
import { initSchema } from '../../src/store/postgres/schema-check.ts'
import { closeSessions, openSessions } from '../../src/store/postgres/sessions.ts'
import { DEFAULT_TIMINGS } from '../../src/store/postgres/timings.ts'
import { postgresServer } from './postgres-server.ts'

let schemas = 0

/** The URL of an empty store that was initialised. */
export async function newPostgresUrl(server?: { readonly url: string }): Promise<string> {
  const { url } = server ?? (await postgresServer())
  schemas += 1
  const named = `${url}${url.includes('?') ? '&' : '?'}schema=t${process.pid}_${Date.now().toString(36)}_${schemas}`
  const sessions = openSessions(readConnectionUrl(named), DEFAULT_TIMINGS)
  try {
    await initSchema(sessions)
  } finally {
    await closeSessions(sessions)
  }
  return named
}

export async function openNewPostgresStore(): Promise<EventStore> {
  return openPostgresStore({ url: await newPostgresUrl() })
}
