/** @module Sends one request to a server over HTTP unchanged, without timeout, redirects or retries. */

import type { Buffer } from 'node:buffer'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'

export interface UpstreamRequest {
  readonly url: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: readonly Buffer[]
  readonly signal: AbortSignal
}

/** `wasSent`: the server may have read part of the request. */
export class UpstreamFailure extends Error {
  readonly wasSent: boolean

  constructor(reason: string, wasSent: boolean) {
    super(reason)
    this.name = 'UpstreamFailure'
    this.wasSent = wasSent
  }
}

/** Resolves with the head of the answer. Rejects with `UpstreamFailure`. */
export function askUpstream({ url, method, headers, body, signal }: UpstreamRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = url.startsWith('https:') ? httpsRequest : httpRequest
    let wasSent = false
    // Uses a new connection: a kept-alive one may be closed at this moment, and it would be unknown whether the request was read.
    const outgoing = request(url, {
      method,
      headers: { ...headers, 'accept-encoding': 'identity' },
      agent: false,
      signal,
    })
    outgoing.once('socket', (socket) => {
      socket.once(url.startsWith('https:') ? 'secureConnect' : 'connect', () => {
        wasSent = true
      })
    })
    outgoing.once('response', resolve)
    outgoing.once('error', (error) => reject(new UpstreamFailure(error.message, wasSent)))
    for (const part of body ?? []) outgoing.write(part)
    outgoing.end()
  })
}
