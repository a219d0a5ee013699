/** @module The request context: Hono's, with node's own request and response if a real server is in front. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'hono'
import type { Principal } from '../signing/tokens.ts'

export type HttpEnv = {
  /** Empty if the app is called without a socket. */
  Bindings: {
    readonly incoming?: IncomingMessage
    readonly outgoing?: ServerResponse
    /** Call this when a token was valid: the connection then no longer counts as a stranger's. */
    readonly authenticated?: () => void
  }
  /** The caller, once its token was verified; used by the request log. */
  Variables: { caller?: Principal }
}

export type HttpContext = Context<HttpEnv>

/** The address of the client as its socket reports it. */
export function remoteAddress(c: HttpContext): string {
  return c.env?.incoming?.socket.remoteAddress ?? 'unknown'
}
