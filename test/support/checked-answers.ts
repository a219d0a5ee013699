/** @module Answers held against the description that the API serves of itself: by another validator than the one that the schemas are written for. */
import type { OpenAPIHono } from '@hono/zod-openapi'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { HttpEnv } from '../../src/http/http-context.ts'
import { openApiDocument } from '../../src/http/openapi.ts'

const API = 'api'

const JSON_TYPES: ReadonlySet<string> = new Set(['application/json', 'application/problem+json'])

/** Why a body is not what the description says; undefined where it is. */
interface Check {
  readonly answer: (method: string, path: string, status: number, body: unknown) => string | undefined
  readonly problem: (body: unknown) => string | undefined
}

/** All applications of one process have the same description. */
let check: Check | undefined

/** From here on a request throws where a JSON answer or a problem is not what the description says of it; unknown members of an answer are faults. */
export function checkAnswers(app: OpenAPIHono<HttpEnv>): void {
  const request = app.request
  app.request = async (...asked) => {
    const response = await request(...asked)
    const [target, init] = asked
    const method = init?.method ?? (target instanceof Request ? target.method : 'GET')
    const url = new URL(target instanceof Request ? target.url : String(target), 'http://localhost')
    const type = response.headers.get('content-type') ?? ''
    if (!JSON_TYPES.has(type) || response.body === null || /^\/(?:ui|mcp)(?:\/|$)/.test(url.pathname)) return response
    check ??= checkOf(openApiDocument(app, ''))
    const body: unknown = await response.clone().json()
    const fault = response.ok
      ? check.answer(method.toLowerCase(), url.pathname, response.status, body)
      : check.problem(body)
    if (fault !== undefined) throw new Error(`${method} ${url.pathname}: ${response.status}: ${fault}`)
    return response
  }
}

function checkOf(document: string): Check {
  const api = JSON.parse(document) as { readonly paths: Readonly<Record<string, object>> }
  const ajv = new Ajv2020({ strict: false, validateSchema: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema(api, API)
  const paths = Object.keys(api.paths).map((path) => ({ path, form: formOf(path) }))
  const faultOf = (place: readonly string[], body: unknown): string | undefined => {
    const validate = ajv.getSchema(`${API}#${place.map(token).join('')}`)
    if (validate === undefined) return 'the description has no such answer'
    if (validate(body) === true) return undefined
    return ajv.errorsText(validate.errors) + unknownMembers(validate.errors ?? [])
  }
  const answer: Check['answer'] = (method, pathname, status, body) => {
    const found = paths.find(({ path, form }) => form.test(pathname) && method in (api.paths[path] ?? {}))
    if (found === undefined) return 'no route of the description'
    const responses = ['paths', found.path, method, 'responses', String(status)]
    return faultOf([...responses, 'content', 'application/json', 'schema'], body)
  }
  return { answer, problem: (body) => faultOf(['components', 'schemas', 'Problem'], body) }
}

function unknownMembers(errors: readonly { readonly params: object }[]): string {
  const names = errors.flatMap(({ params }) =>
    'additionalProperty' in params ? [String(params.additionalProperty)] : [],
  )
  return names.length === 0 ? '' : ` (${names.join(', ')})`
}

/** Paths without parameters come before those with them in the description. */
const formOf = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll(/[.]/g, '\\.').replaceAll(/\{\w+\}/g, path.includes('tile') ? '.+' : '[^/]+')}$`)

const token = (name: string): string => `/${encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))}`
