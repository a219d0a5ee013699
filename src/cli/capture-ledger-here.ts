/** @module The ledger of a capture command that opens the store itself. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '../client/client.ts'
import { openLedger } from '../compose/compose.ts'
import { silentLog } from '../ledger/effects.ts'
import type { Settings } from '../settings/config.ts'
import { StoreOpenError } from '../store/event-store.ts'
import { describeOwner } from '../store/sqlite/owner-lock.ts'
import { applicationOver, tenantOf } from './api.ts'
import type { Arguments } from './arguments.ts'
import type { CaptureClient, CaptureLedger } from './capture-ledger.ts'

const TOKEN_AGAIN_MS = 60 * 60_000
const SCOPES = ['runs:read', 'runs:write', 'payloads:read']
const LOOK_AGAIN_MS = 50

/** This process owns the store until the ledger is disposed; if another process owns it, the error names its address. */
export async function ledgerHere(
  { settings, text }: Arguments,
  { lockedMs = 0, timeoutMs, patienceMs }: CaptureClient,
): Promise<CaptureLedger> {
  const tenant = tenantOf(text('tenant'))
  const opened = await openedWithin(settings, performance.now() + lockedMs)
  const held = { ledger: opened.ledger, keys: opened.keys.current() }
  const { newToken, fetch } = await applicationOver(held, tenant, { scopes: SCOPES })
  let current = { token: await newToken(), atMs: performance.now() }
  const token = async (): Promise<string> => {
    if (performance.now() - current.atMs > TOKEN_AGAIN_MS)
      current = { token: await newToken(), atMs: performance.now() }
    return current.token
  }
  const client = createClient({ url: 'http://localhost', token, fetch, timeoutMs, patienceMs })
  return { client, url: undefined, [Symbol.asyncDispose]: async () => await opened[Symbol.asyncDispose]() }
}

/** Retries while another process, such as a hook, holds the store only briefly; a ledger that serves the store is reported with its address. */
async function openedWithin(settings: Settings, untilMs: number): ReturnType<typeof openLedger> {
  for (;;) {
    try {
      return await openLedger(settings, silentLog)
    } catch (error) {
      const isLocked = error instanceof StoreOpenError && error.code === 'store-locked'
      const isServed = settings.store.kind !== 'sqlite' || describeOwner(settings.store.path)?.url !== undefined
      if (!isLocked || isServed || performance.now() >= untilMs) throw error
      await sleep(LOOK_AGAIN_MS)
    }
  }
}
