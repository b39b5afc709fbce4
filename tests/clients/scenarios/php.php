<?php
// A client program with the client that the OpenAPI Generator's `php` generates: `php php.php URL KEY`, in a folder beside `lib`.

use OpenAPI\Client\Api\{DefaultApi, PetsApi, StoreApi};
use OpenAPI\Client\{ApiException, Configuration};
use OpenAPI\Client\Model\{CreatePetRequest, ErrorCode, ErrorResponse};

require '/usr/share/php/GuzzleHttp/autoload.php';
spl_autoload_register(function (string $class): void {
    require __DIR__ . '/../lib/' . strtr(substr($class, strlen('OpenAPI\\Client\\')), '\\', '/') . '.php';
});
set_error_handler(fn ($level, $message) => throw new Exception($message), E_ALL & ~E_DEPRECATED);

[, $address, $key] = $argv;

function check(mixed $expected, mixed $found): void
{
    if ($expected != $found) {
        throw new Exception('expected ' . var_export($expected, true) . ', got ' . var_export($found, true));
    }
}

// The document names the address of the service, so the configuration has none.
function configuration(string $key): Configuration
{
    return (new Configuration())->setApiKey('X-API-Key', $key);
}

function pet(string $name, ?string $tag = null): CreatePetRequest
{
    return new CreatePetRequest(['name' => $name] + ($tag === null ? [] : ['tag' => $tag]));
}

function refusal(callable $call): array
{
    try {
        $call();
    } catch (ApiException $error) {
        $body = $error->getResponseObject();
        return [$error->getCode(), $body instanceof ErrorResponse, $body->getError()->getCode()];
    }
    throw new Exception('no error');
}

$pets = new PetsApi(null, configuration($key));
$store = new StoreApi(null, configuration($key));

check('ok', (new DefaultApi(null, new Configuration()))->healthCheck()->getStatus());

$before = $store->getInventory();

[$rex, $status, $headers] = $pets->createPetWithHttpInfo(pet('Rex', 'dog'));
check([201, 'Rex', 'dog'], [$status, $rex->getName(), $rex->getTag()]);
check(["$address/v1/pets/{$rex->getId()}"], $headers['Location']);
$others = array_map(fn ($name) => $pets->createPet(pet($name)), ['Żółw', 'Polly', '🐕']);

// Follow the pages after Rex: two pets on each, then the last one.
$pages = [];
for ($after = $rex->getId(); $after !== null;) {
    [$page, , $headers] = $pets->listPetsWithHttpInfo(2, $after);
    $pages[] = $page;
    $after = preg_match('/[?&]after=([^&>]+)/', $headers['Link'][0] ?? '', $found) ? $found[1] : null;
}
check([array_slice($others, 0, 2), array_slice($others, 2)], $pages);

check($rex, $pets->getPet($rex->getId()));
check($before->getAvailable() + 4, $store->getInventory()->getAvailable());

// The client checks a name by the pattern of the document.
foreach (['  ', "\0", ''] as $name) {
    check(false, pet($name)->valid());
}
check(true, pet('狗')->valid());

check([400, true, ErrorCode::BAD_REQUEST], refusal(fn () => $pets->createPet(pet('Rex'), null, 'text/plain')));
check([401, true, ErrorCode::UNAUTHORIZED], refusal(fn () => (new PetsApi(null, configuration('wrong')))->listPets()));
check([404, true, ErrorCode::NOT_FOUND], refusal(fn () => $pets->getPet('none')));
