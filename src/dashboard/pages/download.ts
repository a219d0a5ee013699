/** @module Downloads: the API's own answers with the session's token, so that its scopes, pins and records all apply. */

import { z } from 'zod'
import { parseJson } from '../../../schemas/json.ts'
import { DOWNLOAD } from '../../access/access.ts'
import { PAGE_HEADERS } from '../headers.ts'
import { pageRoute, Refused } from '../page.ts'

/** The only API paths that a session can reach; all of them only read. */
const OPEN = [
  /^runs\/[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\/(export|bundle)$/,
  /^(export|bundle)$/,
  /^answers\/[a-z-]{1,40}$/,
  /^log\/(checkpoint|key|timestamp)$/,
  /^log\/events\/[0-9a-f-]{36}\/proof\.tlog-proof$/,
]

const MOUNT = '/ui/download/'

export const downloadRoute = pageRoute({
  path: '/download/*',
  access: DOWNLOAD,
  query: z.object({}),
  streams: true,
  handle: async ({ c, deps, session }) => {
    const { pathname, search } = new URL(c.req.url)
    const path = pathname.slice(MOUNT.length)
    if (!OPEN.some((pattern) => pattern.test(path)))
      throw new Refused({ code: 'not-found', detail: 'There is nothing to take along here.' })
    const answer = await deps.api(c, `/v1/${path}${search}`, session.token)
    if (!answer.ok) return problemOf(await answer.text())
    const headers = new Headers(answer.headers)
    for (const [name, value] of Object.entries(PAGE_HEADERS)) headers.set(name, value)
    if (!headers.has('content-disposition'))
      headers.set('content-disposition', `attachment; filename="${path.split('/').at(-1)}"`)
    return new Response(answer.body, { status: answer.status, headers })
  },
})

/** Throws a refusal of the API as a page's refusal. */
function problemOf(text: string): never {
  const { code, detail } = parseJson(text) as { code: string; detail: string }
  throw new Refused({ code, detail })
}
