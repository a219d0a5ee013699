/** @module A reader of the pages without a browser: signed in with a token, with cookies, and retrying where a page says when to retry. */
import { setTimeout as sleep } from 'node:timers/promises'

const AGAIN_MAX = 30

export interface PageSession {
  /** The whole text of the page. Throws if the answer is not 200. */
  readonly page: (path: string) => Promise<string>
}

export async function pageSession(url: string, token: string): Promise<PageSession> {
  const cookies = new Map<string, string>()
  const send = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url + path, { ...init, headers: { cookie }, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split('=')
      cookies.set(name, value)
    }
    return response
  }
  const page = async (path: string): Promise<string> => {
    for (let tries = 1; ; tries += 1) {
      const response = await send(path)
      const text = await response.text()
      if (response.status === 200) return text
      if (response.status !== 503 || tries === AGAIN_MAX) throw new Error(`${path}: ${response.status} ${text}`)
      await sleep(Number(response.headers.get('retry-after') ?? 1) * 1_000)
    }
  }
  const csrf = /name="csrf" value="([^"]*)"/.exec(await page('/ui/sign-in'))?.[1] ?? ''
  const signedIn = await send('/ui/sign-in', { method: 'POST', body: new URLSearchParams({ csrf, token }) })
  if (signedIn.status !== 303) throw new Error(`not signed in: ${signedIn.status}`)
  return { page }
}
