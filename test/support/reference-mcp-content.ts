/** @module What the reference server of MCP has: its tools, prompts and resources, as the conformance suite names them. */
import { isJsonObject, type Json, type JsonObject } from '../../schemas/json.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA='

const text = (value: string): JsonObject => ({ type: 'text', text: value })
const image: JsonObject = { type: 'image', data: PNG, mimeType: 'image/png' }
const resource = (uri: string, value: string, mimeType = 'text/plain'): JsonObject => ({
  type: 'resource',
  resource: { uri, mimeType, text: value },
})

/** Content by tool, where it is always the same. */
export const CONTENT: Readonly<Record<string, readonly JsonObject[]>> = {
  test_simple_text: [text('This is a simple text response for testing.')],
  test_image_content: [image],
  test_audio_content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }],
  test_embedded_resource: [resource('test://embedded-resource', 'This is an embedded resource content.')],
  test_multiple_content_types: [
    text('Multiple content types test:'),
    image,
    resource('test://mixed-content-resource', '{"test":"data","value":123}', 'application/json'),
  ],
  test_error_handling: [text('This tool intentionally returns an error for testing')],
}

const titled = (first: string): JsonObject[] => [
  { const: 'value1', title: first },
  { const: 'value2', title: 'Second' },
]
const OPTIONS = ['option1', 'option2', 'option3']

/** The form that each asking tool shows. */
export const elicitations: Readonly<Record<string, JsonObject>> = {
  test_elicitation: {
    type: 'object',
    properties: { username: { type: 'string' }, email: { type: 'string' } },
    required: ['username', 'email'],
  },
  test_elicitation_sep1034_defaults: {
    type: 'object',
    properties: {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    },
  },
  test_elicitation_sep1330_enums: {
    type: 'object',
    properties: {
      untitledSingle: { type: 'string', enum: OPTIONS },
      titledSingle: { type: 'string', oneOf: titled('First Option') },
      legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
      untitledMulti: { type: 'array', items: { type: 'string', enum: OPTIONS } },
      titledMulti: { type: 'array', items: { anyOf: titled('First Choice') } },
    },
  },
}

const ask = (method: string, params: JsonObject = {}): JsonObject => ({ method, params })
const form = (message: string, name: string): JsonObject =>
  ask('elicitation/create', {
    message,
    requestedSchema: { type: 'object', properties: { [name]: { type: 'string' } }, required: [name] },
  })
const sampling = (question: string): JsonObject =>
  ask('sampling/createMessage', { messages: [{ role: 'user', content: text(question) }], maxTokens: 100 })

/** What a tool or a prompt asks for, round by round. */
const ROUNDS: Readonly<Record<string, readonly JsonObject[]>> = {
  test_input_required_result_elicitation: [{ user_name: form('What is your name?', 'name') }],
  test_streaming_elicitation: [{ user_name: form('What is your name?', 'name') }],
  test_input_required_result_sampling: [{ capital_question: sampling('What is the capital of France?') }],
  test_input_required_result_list_roots: [{ client_roots: ask('roots/list') }],
  test_input_required_result_request_state: [{ confirm: form('Please confirm', 'ok') }],
  test_input_required_result_multiple_inputs: [
    {
      user_name: form('What is your name?', 'name'),
      greeting: sampling('Generate a greeting'),
      client_roots: ask('roots/list'),
    },
  ],
  test_input_required_result_multi_round: [
    { step1: form('Step 1: What is your name?', 'name') },
    { step2: form('Step 2: What is your favorite color?', 'color') },
  ],
  test_input_required_result_tampered_state: [{ confirm: form('Please confirm', 'ok') }],
  test_input_required_result_capabilities: [{ question: sampling('What is it?') }],
  test_input_required_result_prompt: [{ user_context: form('What context should the prompt use?', 'context') }],
}

export const CLASSIC_TOOLS: readonly string[] = [
  ...Object.keys(CONTENT),
  ...Object.keys(elicitations),
  ...['test_tool_with_logging', 'test_tool_with_progress', 'test_sampling', 'test_logging_tool'],
]

export const TOOLS: JsonObject[] = [
  ...CLASSIC_TOOLS,
  'test_missing_capability',
  ...Object.keys(ROUNDS).filter((name) => !name.endsWith('_prompt')),
].map((name) => ({ name, description: `The tool ${name}`, inputSchema: { type: 'object', properties: {} } }))

const argument = (name: string): JsonObject => ({ name, description: name, required: true })

export const PROMPTS: JsonObject[] = [
  { name: 'test_simple_prompt', description: 'Simple' },
  {
    name: 'test_prompt_with_arguments',
    description: 'With arguments',
    arguments: [argument('arg1'), argument('arg2')],
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'With a resource',
    arguments: [argument('resourceUri')],
  },
  { name: 'test_prompt_with_image', description: 'With an image' },
  { name: 'test_input_required_result_prompt', description: 'Asks first' },
]

export function promptOf(name: string, args: JsonObject): readonly JsonObject[] | undefined {
  const user = (...content: JsonObject[]): JsonObject[] => content.map((each) => ({ role: 'user', content: each }))
  switch (name) {
    case 'test_simple_prompt':
      return user(text('This is a simple prompt for testing.'))
    case 'test_prompt_with_arguments':
      return user(text(`Prompt with arguments: arg1='${String(args.arg1)}', arg2='${String(args.arg2)}'`))
    case 'test_prompt_with_embedded_resource':
      return user(
        resource(String(args.resourceUri), 'Embedded resource content for testing.'),
        text('Please process the embedded resource above.'),
      )
    case 'test_prompt_with_image':
      return user(image, text('Please analyze the image above.'))
    default:
      return undefined
  }
}

export const RESOURCES: JsonObject[] = ['static-text', 'static-binary', 'watched-resource'].map((name) => ({
  ...{ uri: `test://${name}`, name, description: name },
  mimeType: name === 'static-binary' ? 'image/png' : 'text/plain',
}))
export const TEMPLATES: JsonObject[] = [
  { uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' },
]

export function resourceOf(uri: string): JsonObject | undefined {
  if (uri === 'test://static-binary') return { uri, mimeType: 'image/png', blob: PNG }
  const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? []
  if (id !== undefined)
    return {
      uri,
      mimeType: 'application/json',
      text: JSON.stringify({ id, templateTest: true, data: `Data for ${id}` }),
    }
  if (!RESOURCES.some((each) => each.uri === uri)) return undefined
  return { uri, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }
}

type Round =
  | { readonly kind: 'ask'; readonly result: JsonObject }
  | { readonly kind: 'over'; readonly said: { readonly result?: JsonObject; readonly error?: JsonObject } }

/** The next round of a tool or a prompt that asks first; undefined for all others. `seal` marks a text as this server's own. */
export function inputRounds(
  params: JsonObject,
  capabilities: Json | undefined,
  seal: (text: string) => string,
): Round | undefined {
  const name = String(params.name)
  const rounds = ROUNDS[name]
  if (rounds === undefined) return undefined
  const states = rounds.map((_, index) => seal(`${name}/${index}`))
  const { requestState, inputResponses } = params
  const at = requestState === undefined ? 0 : states.indexOf(String(requestState))
  if (at < 0) return { kind: 'over', said: { error: { code: -32_602, message: 'the state is not of this server' } } }
  const asks = rounds[at] ?? {}
  const given = isJsonObject(inputResponses) ? inputResponses : {}
  const isAnswered = Object.keys(asks).every((key) => isJsonObject(given[key]))
  const next = isAnswered ? at + 1 : at
  const wanted = rounds[next]
  if (wanted !== undefined)
    return {
      kind: 'ask',
      result: {
        ...{ resultType: 'input_required', requestState: states[next] ?? '' },
        inputRequests: canAnswer(wanted, capabilities),
      },
    }
  const done = name.endsWith('_prompt')
    ? { messages: [{ role: 'user', content: text('with context') }] }
    : { content: [text(`Hello, ${JSON.stringify(given)}: state-ok`)] }
  return { kind: 'over', said: { result: { resultType: 'complete', ...done } as JsonObject } }
}

/** A server asks for nothing that the client has not declared. */
function canAnswer(asks: JsonObject, capabilities: Json | undefined): JsonObject {
  if (!isJsonObject(capabilities)) return asks
  const kept = Object.entries(asks).filter(([, about]) => {
    const [capability = ''] = String(isJsonObject(about) ? about.method : '').split('/')
    return Object.hasOwn(capabilities, capability)
  })
  return Object.fromEntries(kept)
}
