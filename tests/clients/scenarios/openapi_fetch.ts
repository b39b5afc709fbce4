// A client program with openapi-fetch and the types that openapi-typescript generates: `openapi_fetch.js URL KEY`.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Pet = components["schemas"]["Pet"];
type ErrorCode = components["schemas"]["ErrorCode"];

// True if the types are identical: `any` and `unknown` are not a string.
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function typed<_Holds extends true>(): void {}

const [address, key] = process.argv.slice(2);
assert(address && key);
const clientWith = (headers: Record<string, string>) => createClient<paths>({ baseUrl: `${address}/v1`, headers });
const client = clientWith({ "X-API-Key": key });

// Health needs no key.
const health = await clientWith({}).GET("/health");
assert(health.data);
typed<Same<typeof health.data.status, "ok">>();
assert.equal(health.data.status, "ok");

async function inventory(): Promise<components["schemas"]["Inventory"]> {
  const { data } = await client.GET("/store/inventory");
  assert(data);
  typed<Same<typeof data.available, number>>();
  return data;
}
const before = await inventory();

async function create(body: components["schemas"]["CreatePetRequest"], idempotencyKey?: string) {
  const header = idempotencyKey ? { "Idempotency-Key": idempotencyKey } : {};
  const { data, response } = await client.POST("/pets", { params: { header }, body });
  assert(data);
  assert.equal(response.status, 201);
  typed<Same<typeof data, Pet>>();
  return { pet: data, headers: response.headers };
}

// Create.
const { pet: rex, headers } = await create({ name: "Rex", tag: "dog" });
typed<Same<typeof rex.id, string>>();
typed<Same<Pet["tag"], string | undefined>>();
assert.deepEqual(rex, { id: rex.id, name: "Rex", tag: "dog" });
assert.equal(headers.get("Location"), `${address}/v1/pets/${rex.id}`);

// Create a pet with two requests.
const once = randomUUID();
const first = await create({ name: "Żółw" }, once);
const second = await create({ name: "Żółw" }, once);
assert.equal(first.pet.tag, undefined);
assert.deepEqual(Object.keys(first.pet), ["id", "name"]);
assert.deepEqual(second.pet, first.pet);
assert.equal(first.headers.get("Idempotency-Replayed"), null);
assert.equal(second.headers.get("Idempotency-Replayed"), "true");

// Follow the pages after Rex: two pets each, then the last.
const others = [first.pet, (await create({ name: "Polly" })).pet, (await create({ name: "Mia" })).pet];
async function pagesAfter(after: string): Promise<Pet[][]> {
  const { data, response } = await client.GET("/pets", { params: { query: { limit: 2, after } } });
  assert(data);
  const next = /^<(.+)>; rel="next"$/.exec(response.headers.get("Link") ?? "")?.[1];
  if (!next) return [data];
  const last = new URL(next).searchParams.get("after");
  assert(last);
  return [data, ...(await pagesAfter(last))];
}
assert.deepEqual(await pagesAfter(rex.id), [others.slice(0, 2), others.slice(2)]);

const fetched = await client.GET("/pets/{petId}", { params: { path: { petId: rex.id } } });
assert.deepEqual(fetched.data, rex);

// The counts include the new pets.
assert.deepEqual(await inventory(), { ...before, available: before.available + 4 });

// Error responses.
const unknown = await client.GET("/pets/{petId}", { params: { path: { petId: "none" } } });
assert.equal(unknown.response.status, 404);
assert(unknown.error);
typed<Same<typeof unknown.error, components["schemas"]["ErrorResponse"]>>();
assert.equal(unknown.error.error.code, "not_found" satisfies ErrorCode);
assert.equal(typeof unknown.error.error.message, "string");

const negative = await client.GET("/pets", { params: { query: { limit: -1 } } });
assert.equal(negative.response.status, 400);
assert.equal(negative.error?.error.code, "bad_request" satisfies ErrorCode);

const stranger = await clientWith({ "X-API-Key": "wrong" }).GET("/pets");
assert.equal(stranger.response.status, 401);
assert.equal(stranger.error?.error.code, "unauthorized" satisfies ErrorCode);
