/** @module The ledger of an entrance that opens the store itself. */
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

/** This process has the store to itself meanwhile; where another one has it, the error names that one's address. */
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

/** While another process has the store for a moment only, as a hook has, it is waited for; a ledger that serves it says where. */
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
