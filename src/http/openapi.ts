/** @module The description of the API (OpenAPI 3.1), generated from the same declarations that serve it. */
import { createRoute, type OpenAPIHono, type RouteConfig, z } from '@hono/zod-openapi'
import type { HttpEnv } from './http-context.ts'
import { ANSWER_MEMBERS } from './openapi-answers.ts'
import { describeMembers, describeParameter, MEMBERS, type Parameter } from './openapi-descriptions.ts'
import { STATUS } from './problem-codes.ts'
import type { Route } from './route.ts'

/** RFC 9457, with our own members `code`, `pointer` and `retryAfterMs`. A code may add members that show why. */
const ProblemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string(),
    code: z.enum(Object.keys(STATUS)),
    pointer: z.string().optional(),
    retryAfterMs: z.int().optional().describe('Milliseconds after which the request is worth sending again.'),
  })
  .openapi('Problem')

const PROBLEM = { description: 'Refused', content: { 'application/problem+json': { schema: ProblemSchema } } }

export function registerRoute(app: OpenAPIHono<HttpEnv>, route: Route): void {
  app.openAPIRegistry.registerPath(createRoute(configOf(route)))
}

export function openApiDocument(app: OpenAPIHono<HttpEnv>, version: string): string {
  app.openAPIRegistry.registerComponent('securitySchemes', 'bearer', {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
  })
  const info = {
    title: 'Countersign',
    version,
    description: 'An append-only, signed ledger for AI-agent runs.',
    license: { name: 'MIT', identifier: 'MIT' },
  }
  const servers = [{ url: '/', description: 'The ledger that serves this description.' }]
  const document = app.getOpenAPI31Document({ openapi: '3.1.0', info, servers, security: [{ bearer: [] }] })
  return JSON.stringify(described(document as unknown as Document))
}

interface Operation {
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Content
}

interface Content {
  readonly content: Readonly<Record<string, { readonly schema: object }>>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}

/** Adds a description to every parameter and member of the document. */
function described(document: Document): Document {
  for (const [path, operations] of Object.entries(document.paths)) {
    const [last = ''] = path
      .split('/')
      .filter((part) => part !== '' && !part.startsWith('{'))
      .slice(-1)
    for (const { parameters = [], requestBody } of Object.values(operations)) {
      for (const parameter of parameters) describeParameter(parameter, last)
      for (const { schema } of Object.values(requestBody?.content ?? {})) describeMembers(schema, last)
    }
  }
  for (const [name, schema] of Object.entries(document.components.schemas))
    describeMembers(schema, name, name === 'Problem' ? MEMBERS : { ...MEMBERS, ...ANSWER_MEMBERS })
  return document
}

function configOf(route: Route): RouteConfig {
  const success = {
    description: 'Done',
    content: { [route.produces ?? 'application/json']: { schema: route.answer ?? z.unknown() } },
  }
  const others = Object.entries(route.answers ?? {}).map(([status, description]) => [
    status,
    status.startsWith('2') ? { ...success, description } : { description },
  ])
  return {
    method: route.method,
    path: route.path,
    operationId: operationId(route),
    summary: route.summary,
    tags: [route.tag],
    security: route.access === 'open' ? [] : [{ bearer: [...route.access.scopes] }],
    request: requestOf(route),
    responses: { 200: success, ...Object.fromEntries(others), '4XX': PROBLEM, '5XX': PROBLEM },
  }
}

function requestOf(route: Route): NonNullable<RouteConfig['request']> {
  const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '')
  return {
    ...(names.length > 0 && { params: z.object(Object.fromEntries(names.map((name) => [name, z.string()]))) }),
    ...(route.access !== 'open' && Object.keys(route.query.shape).length > 0 && { query: route.query }),
    ...(route.body && { body: { required: true, content: { 'application/json': { schema: route.body } } } }),
  }
}

/** For example `get_v1_runs_run_calls`: stable, and unique by construction. */
function operationId({ method, path }: Route): string {
  return [method, ...path.split('/').map((part) => part.replaceAll(/\W/g, ''))].filter((part) => part !== '').join('_')
}
