// A client program with the client that @hey-api/openapi-ts generates: `hey_api.js URL KEY`.

import assert from "node:assert/strict";
import { client } from "./client/client.gen.js";
import { createPet, getInventory, getPet, healthCheck, listPets } from "./client/index.js";
import type { ErrorResponse, Pet } from "./client/index.js";

const [address, key] = process.argv.slice(2);
assert(address && key);

// The document names the address of the service, so the client needs none. Health needs no key.
const health = await healthCheck({ throwOnError: true });
assert.equal(health.data.status, "ok");

client.setConfig({ auth: key });
const before = (await getInventory({ throwOnError: true })).data;

async function create(name: string, tag?: string): Promise<{ pet: Pet; headers: Headers }> {
  const body = tag ? { name, tag } : { name };
  const { data, response } = await createPet({ body, throwOnError: true });
  assert.equal(response.status, 201);
  return { pet: data, headers: response.headers };
}
const { pet: rex, headers } = await create("Rex", "dog");
assert.deepEqual(rex, { id: rex.id, name: "Rex", tag: "dog" });
assert.equal(headers.get("Location"), `${address}/v1/pets/${rex.id}`);
const others = [(await create("Żółw")).pet, (await create("Polly")).pet, (await create("🐕")).pet];

// Follow the pages after Rex: two pets on each, then the last one.
const pages: Pet[][] = [];
for (let after: string | null = rex.id; after; ) {
  const { data, response }: { data: Pet[]; response: Response } = await listPets({ query: { limit: 2, after }, throwOnError: true });
  pages.push(data);
  const link: string | undefined = /^<(.+)>; rel="next"$/.exec(response.headers.get("Link") ?? "")?.[1];
  after = link ? new URL(link).searchParams.get("after") : null;
}
assert.deepEqual(pages, [others.slice(0, 2), others.slice(2)]);

assert.deepEqual((await getPet({ path: { petId: rex.id }, throwOnError: true })).data, rex);
const inventory = (await getInventory({ throwOnError: true })).data;
assert.deepEqual(inventory, { ...before, available: before.available + 4 });

// Error responses, which all have one type.
async function checkRefusal(status: number, code: ErrorResponse["error"]["code"], call: Promise<{ error?: ErrorResponse; response?: Response }>) {
  const { error, response } = await call;
  assert.equal(response?.status, status);
  assert.equal(error?.error.code, code);
}
await checkRefusal(400, "bad_request", listPets({ query: { limit: -1 } }));
await checkRefusal(401, "unauthorized", listPets({ auth: "wrong" }));
await checkRefusal(404, "not_found", getPet({ path: { petId: "none" } }));
