/** @module A browser's part without a browser: keeps cookies, sends forms with the secret of the page, follows nothing by itself. */
import type { TokenRequest } from '../../src/signing/tokens.ts'
import type { TestEdge } from './test-edge.ts'

export interface UiClient {
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Response>
  /** Posts a form; its secret is taken from the last page that had one, unless given. */
  readonly post: (path: string, form: Record<string, string>, headers?: Record<string, string>) => Promise<Response>
  readonly html: (path: string) => Promise<string>
  readonly cookies: Map<string, string>
}

export function uiClient(edge: Pick<TestEdge, 'app'>): UiClient {
  const cookies = new Map<string, string>()
  let csrf = ''
  const send = async (path: string, init: RequestInit): Promise<Response> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...(init.headers as Record<string, string>), ...(cookie !== '' && { cookie }) }
    const response = await edge.app.request(path, { ...init, headers })
    for (const line of response.headers.getSetCookie()) keep(cookies, line)
    return response
  }
  const get: UiClient['get'] = (path, headers = {}) => send(path, { headers })
  const html: UiClient['html'] = async (path) => {
    const text = await (await get(path)).text()
    csrf = /name="csrf" value="([^"]*)"/.exec(text)?.[1] ?? csrf
    return text
  }
  const post: UiClient['post'] = (path, form, headers = {}) =>
    send(path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams({ csrf, ...form }).toString(),
    })
  return { get, post, html, cookies }
}

function keep(cookies: Map<string, string>, line: string): void {
  const [pair = ''] = line.split(';')
  const [name = '', value = ''] = pair.split('=')
  if (/max-age=0/i.test(line) || value === '') cookies.delete(name)
  else cookies.set(name, value)
}

/** A client that has signed in. */
export async function signedIn(edge: TestEdge, claims: Partial<TokenRequest> = {}): Promise<UiClient> {
  const client = uiClient(edge)
  await client.html('/ui/sign-in')
  const response = await client.post('/ui/sign-in', { token: await edge.token(claims) })
  if (response.status !== 303) throw new Error(`not signed in: ${response.status}`)
  await client.html('/ui/runs')
  return client
}
