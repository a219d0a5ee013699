/** @module Stores on the tests' PostgreSQL: each is a schema of its own. */
import type { EventStore } from '../../src/store/event-store.ts'
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts'
import { initSchemaAt } from '../../src/store/postgres/schema-check.ts'
import { postgresServer } from './postgres-server.ts'

let schemas = 0

/** The URL of an empty store that was initialised. */
export async function newPostgresUrl(server?: { readonly url: string }): Promise<string> {
  const { url } = server ?? (await postgresServer())
  schemas += 1
  const named = `${url}${url.includes('?') ? '&' : '?'}schema=t${process.pid}_${Date.now().toString(36)}_${schemas}`
  await initSchemaAt(named)
  return named
}

export async function openNewPostgresStore(): Promise<EventStore> {
  return openPostgresStore({ url: await newPostgresUrl() })
}
