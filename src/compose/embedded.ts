/** @module A ledger inside the process that uses it: one reference-counted handle per store. */
import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { silentLog } from '../ledger/effects.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { readSettings, type Settings } from '../settings/config.ts'
import { packageVersion } from '../settings/package-version.ts'
import { type OpenLedger, openLedger } from './compose.ts'

export interface Embedded {
  readonly ledger: Ledger
  /**
   * Serves the ledger over HTTP until `close` of the result is called, which must happen before the handle is closed. Rejects with node's own error if the
   * address is not available.
   */
  readonly serve: (address: ServeAddress) => Promise<Served>
  /** Releases the handle; the last release closes the store. */
  readonly close: () => Promise<void>
}

export interface ServeAddress {
  /** 0 selects a free port. */
  readonly port: number
  readonly host: string
}

export interface Served {
  readonly url: string
  readonly close: () => Promise<void>
}

interface Handle {
  readonly opened: Promise<OpenLedger>
  users: number
}

const handles = new Map<string, Handle>()
/** Stores that are being closed: a caller that opens one of them again waits for its lock. */
const closing = new Map<string, Promise<void>>()

/** Opens the data folder at `path`, or `:memory:`. Throws like `openLedger`. */
export async function openEmbedded(path: string): Promise<Embedded> {
  if (path === ':memory:') return openInMemory()
  const folder = resolve(path)
  await closing.get(folder)
  const settings = { ...readSettings({ data: folder }, {}), auditIfAsked: true, readThreads: 0 }
  const handle: Handle = handles.get(folder) ?? { opened: openLedger(settings, silentLog), users: 0 }
  handles.set(folder, handle)
  handle.users += 1
  const close = once(() => giveBack(folder, handle))
  try {
    const opened = await handle.opened
    return { ledger: opened.ledger, serve: serverOf(opened, settings), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function giveBack(folder: string, handle: Handle): Promise<void> {
  handle.users -= 1
  if (handle.users > 0) return
  handles.delete(folder)
  const closed = handle.opened.then(
    (opened) => opened[Symbol.asyncDispose](),
    () => undefined,
  )
  closing.set(folder, closed)
  try {
    await closed
  } finally {
    closing.delete(folder)
  }
}

/** Uses generated keys that are never stored, and no data folder. */
async function openInMemory(): Promise<Embedded> {
  const keys = join(tmpdir(), `countersign-${randomUUID()}.json`)
  const settings = readSettings({ data: tmpdir(), store: 'memory:', keys }, {})
  const opened = await openLedger(settings, silentLog)
  return {
    ledger: opened.ledger,
    serve: serverOf(opened, settings),
    close: once(async () => opened[Symbol.asyncDispose]()),
  }
}

/** The server is loaded on demand, by its path: a program that bundles this file does not contain the server and cannot serve. */
function serverOf(opened: OpenLedger, settings: Settings): Embedded['serve'] {
  return async (address) => {
    const { serveOpened }: typeof import('./compose-service.ts') = await import(
      new URL('./compose-service.js', import.meta.url).href
    )
    const log = { ...silentLog, debug: () => undefined }
    return serveOpened(opened, { settings: { ...settings, ...address }, log, version: packageVersion() })
  }
}

function once(fn: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => {
    done ??= fn()
    return done
  }
}
