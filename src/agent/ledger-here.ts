/** @module The connection to a ledger in this process; it depends on the whole ledger, so `open` imports it lazily. */

import { Tenant } from '../../schemas/names.ts'
import { type Embedded, openEmbedded, type ServeAddress, type Served } from '../compose/embedded.ts'
import { STORE_OWNER } from '../compose/lease-owner.ts'
import type { Caller } from '../ledger/ledger.ts'
import { AgentError } from './errors.ts'
import type { Connection } from './runtime/connection.ts'
import { ledgerConnection } from './runtime/ledger-connection.ts'

interface Place {
  /** The data folder, or `:memory:`. */
  readonly path: string
  readonly caller: Caller
  /** HTTP address to serve the ledger at, if any. */
  readonly address: ServeAddress | undefined
}

/** Opens a ledger in this process, and serves it if there is an address. Throws `invalid-option`, `StoreOpenError`, `serve-failed`. */
export async function ledgerHere({ path, caller, address }: Place): Promise<Connection> {
  const tenant = Tenant.safeParse(caller.tenant)
  if (!tenant.success) {
    const message = `open: tenant takes ${tenant.error.issues[0]?.message ?? 'a name'}, not ${JSON.stringify(caller.tenant)}`
    throw new AgentError('invalid-option', message, { option: 'tenant' })
  }
  const opened = await openEmbedded(path)
  const served = address === undefined ? undefined : await servedAt(opened, address)
  const close = async (): Promise<void> => {
    await served?.close()
    await opened.close()
  }
  const connection = ledgerConnection({ ledger: opened.ledger, caller, place: path, owner: STORE_OWNER, close })
  return { ...connection, ...(served && { url: served.url }) }
}

/** Serves an open ledger at an address. Throws `serve-failed`. */
async function servedAt(opened: Embedded, address: ServeAddress): Promise<Served> {
  try {
    return await opened.serve(address)
  } catch (error) {
    await opened.close()
    const { host, port } = address
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    const isBundled = code === 'ERR_MODULE_NOT_FOUND' || code === 'ERR_INVALID_URL'
    if (isBundled) {
      const message =
        'a bundled program does not carry the server along: keep countersign outside of the bundle, or run countersign serve'
      throw new AgentError('serve-failed', message, { host, port, code }, { cause: error })
    }
    const reason =
      code === 'EADDRINUSE' ? 'another program has this port' : error instanceof Error ? error.message : String(error)
    const message = `the ledger cannot be served at ${host}:${port}: ${reason}; take another port, or 0 for a free one`
    throw new AgentError('serve-failed', message, { host, port, ...(code !== '' && { code }) }, { cause: error })
  }
}
