/** @module The dashboard's own scripts, styles and icon: read once, and served by name without a session. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { DashboardContext } from './deps.ts'
import { PAGE_HEADERS } from './headers.ts'

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

interface Asset {
  readonly bytes: Buffer
  readonly type: string
  readonly tag: string
}

/** Looks names up in a list that is fixed at the start: a name is never part of a file path. */
export function assetHandler(): (c: DashboardContext) => Response {
  const assets = loadAssets(new URL('./assets/', import.meta.url))
  return (c) => {
    const found = assets.get(c.req.param('name') ?? '')
    if (found === undefined)
      return c.body('there is no such asset', 404, { ...PAGE_HEADERS, 'content-type': 'text/plain' })
    const headers = { ...PAGE_HEADERS, 'cache-control': 'no-cache', etag: found.tag, 'content-type': found.type }
    if (c.req.header('if-none-match') === found.tag) return c.body(null, 304, headers)
    return c.body(new Uint8Array(found.bytes), 200, headers)
  }
}

function loadAssets(folder: URL): ReadonlyMap<string, Asset> {
  return new Map(
    readdirSync(folder).flatMap((name) => {
      const type = TYPES[name.slice(name.lastIndexOf('.') + 1)]
      if (type === undefined) return []
      const bytes = readFileSync(new URL(name, folder))
      const tag = `"${createHash('sha256').update(bytes).digest('base64url')}"`
      return [[name, { bytes, type, tag }]]
    }),
  )
}
