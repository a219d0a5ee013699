/** @module Answers requests that match no route, and names the routes nearby. */
import { problemResponse } from './answers.ts'
import type { HttpContext } from './http-context.ts'
import { problem } from './problems.ts'
import type { Route } from './route.ts'

interface Place {
  readonly method: string
  readonly pattern: RegExp
  /** The path of the parent, and the last segment; `name` is undefined if that segment is a parameter. */
  readonly folder: RegExp
  readonly name: string | undefined
}

const SAID_MAX_CHARS = 120

/**
 * 308 to the resource of the same name without a slash at its end, 405 if the path exists for another method, otherwise 404 with the names of the sibling
 * routes.
 */
export function noRoute(routes: readonly Route[]): (c: HttpContext) => Response {
  const places = routes.map(placeOf)
  return (c) => {
    const { path } = c.req
    const plain = path.replace(/\/+$/, '')
    if (plain !== path && places.some(({ pattern }) => pattern.test(plain)))
      return c.redirect(`${plain}${new URL(c.req.url).search}`, 308)
    const methods = new Set(
      places.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method.toUpperCase()),
    )
    if (methods.size === 0) return problemResponse(problem('not-found', notFoundDetail(places, path)), path)
    if (methods.has('GET')) methods.add('HEAD')
    const allow = [...methods].join(', ')
    return problemResponse(problem('method-not-allowed', `this resource takes ${allow}`, { headers: { allow } }), path)
  }
}

function placeOf({ method, path, deep }: Route): Place {
  const end = path.lastIndexOf('/')
  const [folder, name] = [path.slice(0, end), path.slice(end + 1)]
  return {
    method,
    pattern: patternOf(path, deep === true ? '[^]+' : '[^/]+'),
    folder: patternOf(folder, '[^/]+'),
    name: name.includes('{') ? undefined : name,
  }
}

function patternOf(path: string, parameter: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{\w+\}/g, parameter).replaceAll('.', '\\.')}$`)
}

function notFoundDetail(places: readonly Place[], path: string): string {
  const all = 'there is no such resource; /openapi.json lists all that there are'
  const folder = path.slice(0, path.lastIndexOf('/'))
  if (folder === '' || folder.length > SAID_MAX_CHARS) return all
  const near = places.filter((place) => place.name !== undefined && place.folder.test(folder))
  if (near.length === 0) return all
  return `there is no such resource; ${folder}/ has ${[...new Set(near.map(({ name }) => name))].join(', ')}`
}
