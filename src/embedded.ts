/** @module A ledger inside the process that uses it: one handle per store, counted. */
import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { openLedger } from './compose.ts'
import { readSettings } from './config.ts'
import { silentLog } from './ledger/effects.ts'
import type { Ledger } from './ledger/ledger.ts'

export interface Embedded {
  readonly ledger: Ledger
  /** Gives the handle back; the last one closes the store. */
  readonly close: () => Promise<void>
}

interface Handle {
  readonly opened: Promise<{ readonly ledger: Ledger } & AsyncDisposable>
  users: number
}

const handles = new Map<string, Handle>()
/** Stores that are being closed: whoever opens one of them again waits for its lock. */
const closing = new Map<string, Promise<void>>()

/** Opens the data folder at `path`, or `:memory:`. Throws like `openLedger`. */
export async function openEmbedded(path: string): Promise<Embedded> {
  if (path === ':memory:') return openInMemory()
  const folder = resolve(path)
  await closing.get(folder)
  const handle: Handle = handles.get(folder) ?? {
    opened: openLedger({ ...readSettings({ data: folder }, {}), auditIfAsked: true }, silentLog),
    users: 0,
  }
  handles.set(folder, handle)
  handle.users += 1
  const close = once(() => giveBack(folder, handle))
  try {
    return { ledger: (await handle.opened).ledger, close }
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

/** Its keys are made anew and kept nowhere; no folder is used. */
async function openInMemory(): Promise<Embedded> {
  const keys = join(tmpdir(), `countersign-${randomUUID()}.json`)
  const opened = await openLedger(readSettings({ data: tmpdir(), store: 'memory:', keys }, {}), silentLog)
  return { ledger: opened.ledger, close: once(async () => opened[Symbol.asyncDispose]()) }
}

function once(fn: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => {
    done ??= fn()
    return done
  }
}
