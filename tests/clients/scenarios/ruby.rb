# A client program with the client that the OpenAPI Generator's `ruby` generates: `ruby -I lib ruby.rb URL KEY`.

require "json"
require "openapi_client"
require "uri"
include OpenapiClient

address, key = ARGV

def check(expected, found)
  raise "expected #{expected.inspect}, got #{found.inspect}" unless expected == found
end

# The document names the address of the service, so the client needs none.
def client_with(key)
  ApiClient.new(Configuration.new { |it| it.server_index, it.api_key, it.client_side_validation = 0, {"X-API-Key" => key}, true })
end

def refusal
  yield
  raise "no error"
rescue ApiError => error
  [error.code, JSON.parse(error.response_body)["error"]["code"]]
end

client = client_with(key)
pets, store = PetsApi.new(client), StoreApi.new(client)

check "ok", DefaultApi.new(client_with(nil)).health_check.status

before = store.get_inventory

rex, status, headers = pets.create_pet_with_http_info(CreatePetRequest.new(name: "Rex", tag: "dog"))
check [201, "Rex", "dog"], [status, rex.name, rex.tag]
check "#{address}/v1/pets/#{rex.id}", headers["Location"]
others = %w[Żółw Polly 🐕].map { |name| pets.create_pet(CreatePetRequest.new(name: name)) }
check [nil, nil, nil], others.map(&:tag)

# Follow the pages after Rex: two pets on each, then the last one.
pages, after = [], rex.id
while after
  page, _, headers = pets.list_pets_with_http_info(limit: 2, after: after)
  pages << page
  link = headers["Link"]&.slice(/<(.+)>; rel="next"/, 1)
  after = link && URI.decode_www_form(URI(link).query).to_h["after"]
end
check [others.take(2), others.drop(2)], pages

check rex, pets.get_pet(rex.id)
inventory = store.get_inventory
check [before.available + 4, before.pending, before.sold], [inventory.available, inventory.pending, inventory.sold]

# The client checks a name before it sends it, by the pattern of the document.
["  ", "\0", ""].each do |name|
  pets.create_pet(CreatePetRequest.new(name: name))
  raise "a name was not checked"
rescue ArgumentError
end

client.config.client_side_validation = false
check [400, "bad_request"], refusal { pets.list_pets(limit: -1) }
check [401, "unauthorized"], refusal { PetsApi.new(client_with("wrong")).list_pets }
check [404, "not_found"], refusal { pets.get_pet("none") }
